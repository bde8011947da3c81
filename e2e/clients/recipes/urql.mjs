import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient } from "graphql-ws";
import { onEnd, onPush, pipe, publish } from "wonka";
import { isFinal, SessionEvents } from "./session-events.mjs";

// overSSE needs nothing but urql.
export function overSSE(options) {
  let bearer = "";
  const client = new Client({
    url: options.url,
    exchanges: [fetchExchange],
    fetchSubscriptions: true,
    preferGetMethod: false,
    fetchOptions: () => ({ headers: { Authorization: `Bearer ${bearer}` } }),
  });
  const prepare = async () => {
    bearer = await options.token();
  };
  return follow(client, prepare, options);
}

// overWebSocket uses graphql-ws, which must not retry by itself: it would repeat what has come.
export function overWebSocket(options) {
  const socket = createClient({
    url: options.url.replace(/^http/, "ws"),
    webSocketImpl: options.webSocketImpl,
    connectionParams: async () => ({ Authorization: `Bearer ${await options.token()}` }),
    retryAttempts: 0,
  });
  const forwardSubscription = ({ query, variables }) => ({
    subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, sink) }),
  });
  const client = new Client({
    url: options.url,
    exchanges: [subscriptionExchange({ forwardSubscription })],
    preferGetMethod: false,
  });
  return follow(client, async () => {}, options);
}

// follow makes a new subscription of each attempt, since urql hands the variables on as they are at first.
function follow(client, prepare, { session, after = 0, onEvent, onError, wait }) {
  let stopped = false;
  let failures = 0;
  let running;
  async function again() {
    await wait(failures++);
    if (!stopped) begin();
  }
  async function begin() {
    try {
      await prepare();
    } catch {
      return again();
    }
    let failed;
    running = pipe(
      client.subscription(SessionEvents, { session, after }),
      onPush(({ data, error }) => {
        failed = error;
        if (error || !data) return;
        failures = 0;
        after = data.sessionEvents.sequence;
        onEvent(data.sessionEvents);
      }),
      onEnd(() => (isFinal(failed?.graphQLErrors) ? onError(failed) : again())),
      publish,
    );
  }
  begin();
  return () => {
    stopped = true;
    running?.unsubscribe();
  };
}
