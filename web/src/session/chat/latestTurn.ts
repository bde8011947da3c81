import type { SessionState } from "../feed/state";

const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "sealed", "cancelled"]);

/** The turn that ended last; null while another one is under way or queued. */
export function latestEndedTurn(session: SessionState): string | null {
  if (session.activeTurnId !== null || session.queuedTurnIds.length > 0) return null;
  const end = session.items.findLast(
    (item) => item.kind === "notice" && ENDS.has(item.notice.type),
  );
  return end?.turnId ?? null;
}
