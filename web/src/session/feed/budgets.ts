import type { EventKind } from "@/gql/graphql";
import type { SessionEvent } from "./event";
import type { SessionState } from "./state";

/** After these a budget may stand otherwise: something was spent, or turns wait for money, or wait no more. */
const MOVES: ReadonlySet<EventKind> = new Set([
  "GENERATION_RECORDED",
  "TOOL_COMPLETED",
  "TURN_WAITING",
  "TURN_RESUMED",
  "TURN_COMPLETED",
  "TURN_FAILED",
  "TURN_CANCELLED",
  "TURN_SEALED",
  "SESSION_PAUSED",
  "SESSION_RESUMED",
  "BUDGET_WARNED",
  "BUDGET_PAUSED",
  "BUDGET_EXHAUSTED",
  "BUDGET_RESUMED",
]);

/** The session after an event, with what that says about its budgets. Their figures are read, not folded. */
export function withBudgets(state: SessionState, event: SessionEvent): SessionState {
  if (!MOVES.has(event.kind)) return state;
  return { ...state, budgetVersion: state.budgetVersion + 1 };
}

/** Whether the end of the conversation says that a budget stands in the way. */
export function budgetIsTold({ status, items }: SessionState): boolean {
  if (status === "PAUSED") return true;
  const last = items.at(-1);
  return (
    last?.kind === "notice" && last.notice.type === "sealed" && last.notice.stopReason === "BUDGET"
  );
}
