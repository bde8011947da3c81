import { createClient } from "graphql-ws";
import { isFinal, SessionEvents } from "./session-events.mjs";

// graphql-ws connects again by itself, and sends what it was given at first. It makes JSON of that each time, so a getter
// gives it the place that has been reached by then.
export function follow({ url, token, session, after = 0, onEvent, onError, wait, webSocketImpl }) {
  const client = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl,
    connectionParams: async () => ({ Authorization: `Bearer ${await token()}` }),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: wait,
    shouldRetry: () => true,
  });
  const variables = {
    session,
    get after() {
      return after;
    },
  };
  let stopped = false;
  let failures = 0;
  function begin() {
    client.subscribe(
      { query: SessionEvents, variables },
      {
        next({ data }) {
          if (!data) return;
          failures = 0;
          after = data.sessionEvents.sequence;
          onEvent(data.sessionEvents);
        },
        // Errors of GraphQL end the subscription, as SUBSCRIPTION_LAGGED does. Others mean that the socket is closed for good.
        async error(e) {
          if (!Array.isArray(e) || isFinal(e)) return onError(e);
          await wait(failures++);
          if (!stopped) begin();
        },
        complete() {},
      },
    );
  }
  begin();
  return () => {
    stopped = true;
    return client.dispose();
  };
}
