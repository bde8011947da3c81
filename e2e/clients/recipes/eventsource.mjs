import { isFinal, SessionEvents } from "./session-events.mjs";

// An EventSource comes back by itself, with the id of the last event in Last-Event-ID: the server resumes there. Only what
// the server has completed begins anew.
export function follow({ EventSource, url, token, session, after = 0, onEvent, onError, wait }) {
  let stopped = false;
  let failures = 0;
  let source;
  function begin() {
    let failed;
    const query = new URLSearchParams({ query: SessionEvents, variables: JSON.stringify({ session, after }) });
    source = new EventSource(`${url}?${query}`, {
      fetch: async (address, init) =>
        fetch(address, { ...init, headers: { ...init.headers, Authorization: `Bearer ${await token()}` } }),
    });
    source.addEventListener("next", (message) => {
      const { data, errors } = JSON.parse(message.data);
      failed = errors;
      if (!data) return;
      failures = 0;
      after = data.sessionEvents.sequence;
      onEvent(data.sessionEvents);
    });
    source.addEventListener("complete", async () => {
      source.close();
      if (isFinal(failed)) return onError(failed);
      await wait(failures++);
      if (!stopped) begin();
    });
  }
  begin();
  return () => {
    stopped = true;
    source.close();
  };
}
