import type { OperationResult, TypedDocumentNode } from "urql";
import { uncached } from "@/api/client";
import { codeOf, hasCode } from "@/api/errors";
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
      const { data, error } = await readPage(SessionNowDocument, { id: sessionId });
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
    const { data } = await readPage(SessionBeforeDocument, { id: sessionId, before });
    return data?.session?.events ?? null;
  };
}

const PAGE_SIZE = 100;

/** Reads a page of events. An answer has its bounds in bytes, so of very long events it asks for fewer. */
export async function readPage<Data, Variables extends object>(
  document: TypedDocumentNode<Data, Variables & { last: number }>,
  variables: Variables,
  last = PAGE_SIZE,
): Promise<OperationResult<Data>> {
  const answer = await uncached.query(document, { ...variables, last });
  if (last === 1 || !hasCode(answer.error, "QUERY_TOO_COMPLEX")) return answer;
  return readPage(document, variables, Math.max(1, Math.floor(last / 5)));
}
