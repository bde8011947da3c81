import { createClient } from "graphql-sse";
import { isFinal, SessionEvents } from "./session-events.mjs";

// graphql-sse makes JSON of the request for each attempt, so a getter works here, too.
export function follow({ url, token, session, after = 0, onEvent, onError, wait }) {
  const client = createClient({
    url,
    headers: async () => ({ Authorization: `Bearer ${await token()}` }),
    retryAttempts: Number.POSITIVE_INFINITY,
    retry: wait,
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
    let failed;
    // It also gives up by itself, when the connection breaks while it hands results over.
    const again = async () => {
      if (isFinal(failed)) return onError(failed);
      await wait(failures++);
      if (!stopped) begin();
    };
    client.subscribe(
      { query: SessionEvents, variables },
      {
        next({ data, errors }) {
          failed = errors;
          if (!data) return;
          failures = 0;
          after = data.sessionEvents.sequence;
          onEvent(data.sessionEvents);
        },
        error: again,
        complete: again,
      },
    );
  }
  begin();
  return () => {
    stopped = true;
    client.dispose();
  };
}
