import { type SubscribeOnce, streamEnd } from "@/api/follow";
import { subscribeOverSocket } from "@/api/socket";
import { SessionEventsDocument } from "@/gql/graphql";
import type { SessionEvent } from "./event";

/** The events of one session over a WebSocket. */
export function sessionSubscription(sessionId: string): SubscribeOnce<SessionEvent, number> {
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
