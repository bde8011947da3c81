import { Link } from "@tanstack/react-router";
import { BudgetBar, usedPercent } from "@/budgets/BudgetBar";
import { CheckBadge, StandingBadge } from "@/budgets/StandingBadge";
import { SUBJECT_LABELS } from "@/budgets/words";
import { useMay } from "@/shell/viewer";
import { RequestError } from "@/ui/ErrorNote";
import { Panel } from "../panels/Panel";
import { Standing } from "./Standing";
import { useSessionBudget } from "./useSessionBudget";

interface BudgetPanelProps {
  sessionId: string;
  version: number;
  /** The conversation says what stands in the way, with the way out. */
  told: boolean;
}

/** The budgets that bind the session, and what is left of them. */
export function BudgetPanel({ sessionId, version, told }: BudgetPanelProps) {
  const mayRead = useMay("BUDGETS_READ");
  const mayManage = useMay("BUDGETS_MANAGE");
  const { check, error } = useSessionBudget(sessionId, version);
  if (!mayRead) return null;
  // The budget is past its soft limit, and the session has leave to go on.
  const resumed =
    check?.status === "ACTIVE" && check.budgets.some(({ budget }) => budget.status === "PAUSED");
  return (
    <Panel
      title="Budget"
      aside={check && check.status !== "NO_BUDGETS" && !resumed && <CheckBadge check={check} />}
    >
      <RequestError error={error} />
      {check && (
        <div data-budget-check={check.status} className="space-y-3 text-sm">
          <ul className="space-y-2.5 empty:hidden">
            {check.budgets.map(({ budget }) => (
              <li key={budget.id}>
                <span className="flex items-baseline justify-between gap-2">
                  <Link
                    to="/budgets/$budgetId"
                    params={{ budgetId: budget.id }}
                    className="rounded underline-offset-2 hover:underline"
                  >
                    {SUBJECT_LABELS[budget.subject]}, {budget.currency}
                  </Link>
                  <span className="flex items-baseline gap-2 text-xs text-ink-3 tabular-nums">
                    {budget.status !== "ACTIVE" && <StandingBadge budget={budget} />}
                    {budget.status !== "PAUSED" && `${usedPercent(budget)}% used`}
                  </span>
                </span>
                <span className="block py-1.5">
                  <BudgetBar
                    budget={budget}
                    label={`Spent of the budget: ${SUBJECT_LABELS[budget.subject]}, ${budget.currency}`}
                  />
                </span>
                <span className="text-xs wrap-anywhere text-ink-2 tabular-nums">
                  <Standing budget={budget} />
                </span>
              </li>
            ))}
          </ul>
          {!told && (
            <p className="text-ink-3">
              {resumed ? "Resumed: the soft limit is ignored until it resets." : check.hint}
            </p>
          )}
          {check.status === "NO_BUDGETS" && mayManage && (
            <Link
              to="/budgets"
              search={{ subject: "SESSION", subjectId: sessionId, new: true }}
              className="rounded text-xs text-ink-2 underline underline-offset-2"
            >
              Set a budget for this session
            </Link>
          )}
        </div>
      )}
    </Panel>
  );
}
