import { SessionEvents } from "./session-events.mjs";

// An EventSource comes back by itself, with the id of the last event in Last-Event-ID: the server resumes there. In
// browsers it can't send a token, and a cookie only across origins; there the clients that use fetch are of more use.
export function follow({ EventSource, url, token, session, after = 0, onEvent, onError }) {
  const query = new URLSearchParams({ query: SessionEvents, variables: JSON.stringify({ session, after }) });
  const source = new EventSource(`${url}?${query}`, {
    fetch: async (address, init) =>
      fetch(address, { ...init, headers: { ...init.headers, Authorization: `Bearer ${await token()}` } }),
  });
  source.addEventListener("next", (message) => {
    const { data, errors } = JSON.parse(message.data);
    if (data) onEvent(data.sessionEvents);
    else onError(errors);
  });
  source.addEventListener("complete", () => source.close());
  return () => source.close();
}
