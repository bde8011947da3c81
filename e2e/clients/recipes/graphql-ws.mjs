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
  const begin = () =>
    client.subscribe(
      { query: SessionEvents, variables },
      {
        next({ data }) {
          after = data.sessionEvents.sequence;
          onEvent(data.sessionEvents);
        },
        // The server has ended the subscription, like SUBSCRIPTION_LAGGED does, or has closed the socket for good.
        error: (e) => (Array.isArray(e) && !isFinal(e) ? begin() : onError(e)),
        complete() {},
      },
    );
  begin();
  return () => client.dispose();
}
