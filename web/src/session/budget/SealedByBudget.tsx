import type { ReactNode } from "react";
import { HeldBudgets } from "./HeldBudgets";
import { useSessionBudget } from "./useSessionBudget";

interface SealedByBudgetProps {
  sessionId: string;
  version: number;
  /** The button that lets the session go on: it makes sense once there is room. */
  children: ReactNode;
}

/** What to do about a turn that a budget has stopped. */
export default function SealedByBudget({ sessionId, version, children }: SealedByBudgetProps) {
  const { check, reload } = useSessionBudget(sessionId, version);
  if (!check) return null;
  const held = check.budgets
    .map(({ budget }) => budget)
    .filter(({ status }) => status === "EXHAUSTED");
  if (held.length === 0) {
    return (
      <div className="mt-2 space-y-1">
        <p>There is room again. What was done until then is kept.</p>
        {children}
      </div>
    );
  }
  return (
    <div className="mt-2 space-y-2">
      <p>What was done until then is kept. With a top-up or a higher limit it can be continued.</p>
      <HeldBudgets budgets={held} onToppedUp={reload} />
    </div>
  );
}
