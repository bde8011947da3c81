import { createContext, useContext, useEffect } from "react";
import type { Outbox } from "./outbox";

/**
 * The outboxes of the sessions that were opened since the dashboard was loaded, by session id. They outlive the pages of
 * their sessions, so that what could not be sent goes out whichever page is shown. Another person or organization
 * begins with a load, and so without any: messages never go out under another sign-in than the one they were written with.
 */
export const OutboxesContext = createContext<Map<string, Outbox>>(new Map());

/** Sends what could not be sent whenever the connection is back. */
export function useOutboxRetry(live: boolean): void {
  const outboxes = useContext(OutboxesContext);
  useEffect(() => {
    if (live) for (const outbox of outboxes.values()) outbox.retry();
  }, [outboxes, live]);
}
