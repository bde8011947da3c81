import { type SocketEnd, subscribeOverSocket } from "@/api/socket";
import { SessionEventsDocument } from "@/gql/graphql";
import type { StreamEnd, SubscribeOnce } from "./follow";

/** The events of one session over a WebSocket. */
export function sessionSubscription(sessionId: string): SubscribeOnce {
  return async (after, onEvent, signal) =>
    streamEnd(
      await subscribeOverSocket(
        SessionEventsDocument,
        { sessionId, after },
        (data) => onEvent(data.sessionEvents),
        signal,
      ),
    );
}

const REFUSED = 4403;

export function streamEnd(end: SocketEnd): StreamEnd {
  switch (end.type) {
    case "aborted":
      return { kind: "aborted" };
    // The server never ends such a stream by itself, so this too is a connection to make again.
    case "complete":
      return { kind: "dropped" };
    case "closed":
      return end.code === REFUSED ? { kind: "refused" } : { kind: "dropped" };
    case "errors":
      break;
  }
  switch (end.code) {
    case "SUBSCRIPTION_LAGGED":
      return { kind: "lagged" };
    case "UNAUTHENTICATED":
      return { kind: "refused" };
    case "NOT_FOUND":
    case "FORBIDDEN":
    case "BAD_USER_INPUT":
    case "GRAPHQL_PARSE_FAILED":
    case "GRAPHQL_VALIDATION_FAILED":
    case "QUERY_TOO_COMPLEX":
      return { kind: "fatal", message: end.message };
    default:
      return {
        kind: "dropped",
        ...(end.retryAfterSeconds === null ? {} : { retryAfterMs: end.retryAfterSeconds * 1000 }),
      };
  }
}
