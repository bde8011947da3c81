import type { SessionState } from "./state";

interface WaitLike {
  readonly id: string;
  readonly toolCallId: string | null;
  readonly turn: { readonly id: string } | null;
}

/** Whether events tell that a wait, as it was read some time ago, has ended meanwhile. */
export function waitIsOver(session: SessionState, wait: WaitLike): boolean {
  if (wait.turn !== null && wait.turn.id !== session.activeTurnId) return true;
  if (session.decidedWaits.includes(wait.id)) return true;
  if (wait.toolCallId === null) return false;
  const call = session.items.findLast(({ kind, id }) => kind === "tool" && id === wait.toolCallId);
  return call?.kind === "tool" && call.state !== "running";
}
