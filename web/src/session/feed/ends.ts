import { doerOf, type EventOf } from "./event";
import { appendNotice, closeItemsOfTurn } from "./items";
import type { NoticeItem, SessionState, Took } from "./state";
import { dropQueuedTurn, endTurn } from "./turns";

type End =
  | EventOf<"TurnCompleted">
  | EventOf<"TurnFailed">
  | EventOf<"TurnSealed">
  | EventOf<"TurnCancelled">;

const STATUSES = {
  TurnCompleted: "completed",
  TurnFailed: "failed",
  TurnSealed: "sealed",
  TurnCancelled: "cancelled",
} as const;

/** The session after a turn of it has ended, in whatever way. */
export function finishTurn(state: SessionState, event: End): SessionState {
  const { turnId } = event;
  if (turnId === null) return state;
  if (state.queuedTurnIds.includes(turnId)) return dropQueuedTurn(state, turnId, event.occurredAt);
  const closed = closeItemsOfTurn(state, turnId);
  const ended = endTurn(closed, turnId, STATUSES[event.__typename], event.occurredAt);
  return appendNotice(settleInput(ended, event), event, noticeOf(state, event));
}

/** What a turn was to begin with is answered by its cancel; left over it would begin another one. */
function settleInput(state: SessionState, event: End): SessionState {
  if (event.__typename !== "TurnCancelled") return state;
  const asked = state.items.some(({ kind, turnId }) => kind === "agent" && turnId === event.turnId);
  if (asked) return state;
  const own = new Set(
    state.items
      .filter(({ kind, turnId }) => kind === "user" && turnId === event.turnId)
      .map(({ id }) => id),
  );
  return { ...state, undelivered: state.undelivered.filter((id) => !own.has(id)) };
}

function noticeOf(state: SessionState, event: End): NoticeItem["notice"] {
  switch (event.__typename) {
    case "TurnCompleted":
      return {
        type: "completed",
        stopReason: event.stopReason,
        durationMs: event.durationMs,
        timeToFirstTokenMs: event.timeToFirstTokenMs,
        iterations: event.iterations,
        usage: event.usage,
      };
    case "TurnFailed":
      return {
        type: "failed",
        failure: event.error,
        told: wasTold(state, event.turnId, event.error.code),
        took: tookOf(state, event),
      };
    case "TurnSealed":
      return {
        type: "sealed",
        stopReason: event.stopReason,
        failure: event.error,
        told: wasTold(state, event.turnId, event.error.code),
        took: tookOf(state, event),
      };
    case "TurnCancelled":
      return {
        type: "cancelled",
        reason: event.cancelReason || null,
        by: doerOf(event),
        took: tookOf(state, event),
      };
  }
}

function tookOf(state: SessionState, { turnId, occurredAt }: End): Took | null {
  const turn = turnId === null ? undefined : state.turns[turnId];
  if (!turn?.startedAt) return null;
  const durationMs = new Date(occurredAt).getTime() - new Date(turn.startedAt).getTime();
  return { durationMs: Math.max(0, durationMs), usage: turn.usage };
}

/** Whether the agent's last message of the turn carries its failure. */
function wasTold(state: SessionState, turnId: string | null, code: string): boolean {
  const last = state.items.findLast((item) => item.turnId === turnId && item.kind === "agent");
  return last?.kind === "agent" && last.error?.code === code;
}

const ENDS: readonly NoticeItem["notice"]["type"][] = Object.values(STATUSES);

/** How the latest turn that ended went wrong; null when it didn't. */
export function latestFailure({ items }: SessionState) {
  const end = items.findLast((item) => item.kind === "notice" && ENDS.includes(item.notice.type));
  if (end?.kind !== "notice") return null;
  const { notice } = end;
  if (notice.type !== "failed" && notice.type !== "sealed") return null;
  return { sealed: notice.type === "sealed", message: notice.failure.message };
}
