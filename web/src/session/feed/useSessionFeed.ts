import { useEffect, useMemo, useSyncExternalStore } from "react";
import { stayConnected } from "@/api/connection";
import { type FeedSnapshot, SessionFeed } from "./feed";
import { sessionSubscription } from "./transport";

/** Follows one session for as long as the calling component is mounted. */
export function useSessionFeed(sessionId: string): FeedSnapshot {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another session needs a feed of its own.
  const feed = useMemo(() => new SessionFeed(), [sessionId]);

  useEffect(() => {
    const controller = new AbortController();
    void stayConnected({
      subscribeOnce: sessionSubscription(sessionId),
      resumeAfter: () => feed.resumeAfter(),
      sequenceOf: ({ sequence }) => sequence,
      onEvent: (event) => feed.push(event),
      connection: () => feed.getSnapshot().connection,
      setConnection: (connection) => feed.setConnection(connection),
      signal: controller.signal,
    });
    return () => controller.abort();
  }, [feed, sessionId]);

  return useSyncExternalStore(feed.subscribe, feed.getSnapshot);
}
