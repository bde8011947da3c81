// SessionEvents asks for what following a session needs. Every event carries a sequence: a durable one its own, an
// ephemeral one that of the durable event before it. So the sequence of the last event, whatever its kind, is where to
// resume.
export const SessionEvents = /* GraphQL */ `
  subscription SessionEvents($session: ID!, $after: Int) {
    sessionEvents(sessionId: $session, after: $after) {
      kind
      sequence
      turnId
      data
    }
  }
`;

// These codes are final: the same request would fail again. After all others a client resumes. UNAUTHENTICATED is not
// among them, because the next attempt asks for a new token.
const final = ["FORBIDDEN", "NOT_FOUND", "BAD_USER_INPUT", "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "QUERY_TOO_COMPLEX"];

// isFinal tells whether it is no use to subscribe again after these errors.
export function isFinal(errors) {
  return (errors ?? []).some((e) => final.includes(e.extensions?.code));
}

// backoff waits before an attempt: longer each time, and not all clients at once.
export function backoff(failures) {
  const most = Math.min(30_000, 500 * 2 ** failures);
  return new Promise((resolve) => setTimeout(resolve, most / 2 + Math.random() * (most / 2)));
}
