import { ApolloClient, gql, InMemoryCache } from "@apollo/client/core";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { createClient } from "graphql-ws";
import { isFinal, SessionEvents } from "./session-events.mjs";

// Apollo hands the variables on as they are at first. So the socket must not retry by itself, which would repeat what
// has come: each attempt is a subscription of its own.
export function follow({ url, token, session, after = 0, onEvent, onError, wait, webSocketImpl }) {
  const socket = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl,
    connectionParams: async () => ({ Authorization: `Bearer ${await token()}` }),
    retryAttempts: 0,
  });
  const client = new ApolloClient({ link: new GraphQLWsLink(socket), cache: new InMemoryCache() });
  const query = gql(SessionEvents);
  let stopped = false;
  let failures = 0;
  function begin() {
    let ended = false;
    const end = async (error) => {
      if (ended) return; // an error may be told of in more than one way
      ended = true;
      running.unsubscribe();
      if (isFinal(error?.errors)) return onError(error);
      await wait(failures++);
      if (!stopped) begin();
    };
    const running = client.subscribe({ query, variables: { session, after }, fetchPolicy: "no-cache" }).subscribe({
      next({ data, error }) {
        if (error || !data) return void setTimeout(end, 0, error);
        failures = 0;
        after = data.sessionEvents.sequence;
        onEvent(data.sessionEvents);
      },
      error: (e) => setTimeout(end, 0, e),
      complete: () => setTimeout(end, 0),
    });
  }
  begin();
  return () => {
    stopped = true;
    client.stop();
    return socket.dispose();
  };
}
