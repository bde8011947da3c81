import type { ReactNode } from "react";
import type { Failure } from "../feed/state";
import { HeldBudgets } from "./HeldBudgets";
import { useSessionBudget } from "./useSessionBudget";

interface SealedByBudgetProps {
  sessionId: string;
  version: number;
  failure: Failure;
  /** The button that lets the session go on: it makes sense once there is room. */
  children: ReactNode;
}

/** What to do about a turn that a budget has stopped. */
export default function SealedByBudget({
  sessionId,
  version,
  failure,
  children,
}: SealedByBudgetProps) {
  const { check, reload } = useSessionBudget(sessionId, version);
  if (!check) return null;
  const held = check.budgets
    .map(({ budget }) => budget)
    .filter(({ status }) => status === "EXHAUSTED");
  const { budget, needed } = (failure.fields ?? {}) as { budget?: string; needed?: string };
  if (held.length === 0) {
    return (
      <div className="mt-2 space-y-1">
        <p>The budget has room again. Completed work is kept.</p>
        {children}
      </div>
    );
  }
  return (
    <div className="mt-2 space-y-2">
      <p>Completed work is kept.</p>
      <HeldBudgets
        budgets={held}
        onToppedUp={reload}
        {...(budget && needed && { needed: { [budget]: needed } })}
      />
    </div>
  );
}
