import { useEffect, useMemo, useSyncExternalStore } from "react";
import { stayConnected } from "@/api/connection";
import { type FeedSnapshot, SessionFeed } from "./feed";
import { pagesBefore, sessionSubscription } from "./transport";

export interface Feed extends FeedSnapshot {
  loadEarlier: SessionFeed["loadEarlier"];
}

/** Follows one session for as long as the calling component is mounted. */
export function useSessionFeed(sessionId: string): Feed {
  const feed = useMemo(() => new SessionFeed(pagesBefore(sessionId)), [sessionId]);

  useEffect(() => {
    const controller = new AbortController();
    void stayConnected({
      subscribeOnce: sessionSubscription(sessionId, feed),
      resumeAfter: () => feed.resumeAfter(),
      sequenceOf: ({ sequence }) => sequence,
      onEvent: (event) => feed.push(event),
      connection: () => feed.getSnapshot().connection,
      setConnection: (connection) => feed.setConnection(connection),
      signal: controller.signal,
    });
    return () => controller.abort();
  }, [feed, sessionId]);

  const snapshot = useSyncExternalStore(feed.subscribe, feed.getSnapshot);
  return useMemo(() => ({ ...snapshot, loadEarlier: feed.loadEarlier }), [snapshot, feed]);
}
