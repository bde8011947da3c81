import { uncached } from "@/api/client";
import { codeOf } from "@/api/errors";
import { type SubscribeOnce, streamEnd } from "@/api/follow";
import { subscribeOverSocket } from "@/api/socket";
import { SessionBeforeDocument, SessionEventsDocument, SessionNowDocument } from "@/gql/graphql";
import type { SessionEvent } from "./event";
import type { ReadBefore, SessionFeed } from "./feed";

/** The events of one session over a WebSocket, after those with which a query has opened the feed. */
export function sessionSubscription(
  sessionId: string,
  feed: SessionFeed,
): SubscribeOnce<SessionEvent, number> {
  return async (_after, onEvent, signal) => {
    if (!feed.getSnapshot().session.caughtUp) {
      const { data, error } = await uncached.query(SessionNowDocument, { id: sessionId });
      if (signal.aborted) return { kind: "aborted" };
      if (!data?.session) {
        const [refusal] = error?.graphQLErrors ?? [];
        const [code, message] = refusal
          ? [codeOf(refusal), refusal.message]
          : [error ? null : "NOT_FOUND", "There is no such session."];
        return streamEnd({ type: "errors", code, message, retryAfterSeconds: null });
      }
      feed.open(data.session);
    }
    return streamEnd(
      await subscribeOverSocket(
        SessionEventsDocument,
        { sessionId, after: feed.resumeAfter() },
        (data) => onEvent(data.sessionEvents),
        signal,
      ),
    );
  };
}

export function pagesBefore(sessionId: string): ReadBefore {
  return async (before) => {
    const { data } = await uncached.query(SessionBeforeDocument, { id: sessionId, before });
    return data?.session?.events ?? null;
  };
}
