import { useEffect, useMemo, useSyncExternalStore } from "react";
import { refreshSignIn } from "@/api/refresh";
import { goToSignIn } from "@/auth/goToSignIn";
import { type FeedSnapshot, SessionFeed } from "./feed";
import { followSession } from "./follow";
import { sessionSubscription } from "./transport";

/** Follows one session for as long as the calling component is mounted. */
export function useSessionFeed(sessionId: string): FeedSnapshot {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another session needs a feed of its own.
  const feed = useMemo(() => new SessionFeed(), [sessionId]);

  useEffect(() => {
    const controller = new AbortController();
    void followSession({
      subscribeOnce: sessionSubscription(sessionId),
      resumeAfter: () => feed.resumeAfter(),
      onEvent: (event) => feed.push(event),
      onLive: () => feed.setConnection({ status: "live" }),
      onDown: () => {
        // Only the first of many failed attempts tells since when the page is stale.
        if (feed.getSnapshot().connection.status !== "reconnecting") {
          feed.setConnection({ status: "reconnecting", since: new Date() });
        }
      },
      onEnded: (message) => feed.setConnection({ status: "ended", message }),
      renewSignIn: async () => {
        const outcome = await refreshSignIn();
        if (outcome === "signed-out") goToSignIn();
        return outcome;
      },
      pause: pauseUntilOnline,
      signal: controller.signal,
    });
    return () => controller.abort();
  }, [feed, sessionId]);

  return useSyncExternalStore(feed.subscribe, feed.getSnapshot);
}

/** Waits, but not past the moment at which the browser is back online or the page is left. */
function pauseUntilOnline(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    window.addEventListener("online", wake);
    signal.addEventListener("abort", wake);
  });
}
