import { Link } from "@tanstack/react-router";
import { BudgetBar, Left } from "@/budgets/BudgetBar";
import { StandingBadge } from "@/budgets/StandingBadge";
import { type Budget, periodWords } from "@/budgets/words";
import { Amount } from "@/money/Amount";
import { useMay } from "@/shell/viewer";
import { Nothing, Section } from "./Section";

/** What was spent of the organization's budgets, and what is left. */
export function OrgBudgets({ budgets }: { budgets: readonly Budget[] }) {
  const mayManage = useMay("BUDGETS_MANAGE");
  const bind = budgets.filter(({ status }) => status !== "DISABLED");
  return (
    <Section
      title="Budgets"
      aside={
        <Link
          aria-label="View all budgets"
          to="/budgets"
          className="rounded text-xs text-ink-2 hover:underline"
        >
          View all
        </Link>
      }
    >
      {bind.length === 0 && (
        <Nothing>
          No budget limits the organization.{" "}
          {mayManage && (
            <Link
              to="/budgets"
              search={{ new: true }}
              className="rounded text-ink-2 underline underline-offset-2"
            >
              Set a budget
            </Link>
          )}
        </Nothing>
      )}
      <ul className="divide-y divide-line">
        {bind.map((budget) => (
          <li key={budget.id} data-budget={budget.id} className="px-3.5 py-2 text-sm">
            <span className="flex flex-wrap items-baseline justify-between gap-x-3">
              <Link
                to="/budgets/$budgetId"
                params={{ budgetId: budget.id }}
                className="rounded underline-offset-2 hover:underline"
              >
                {periodWords(budget.period)}:{" "}
                <Amount of={budget.limit} currency={budget.currency} />
              </Link>
              <span className="flex items-baseline gap-2 text-xs wrap-anywhere text-ink-2 tabular-nums">
                {budget.status !== "ACTIVE" && <StandingBadge budget={budget} />}
                <Left budget={budget} />
              </span>
            </span>
            <span className="block py-1.5">
              <BudgetBar budget={budget} label={`Spent of the budget in ${budget.currency}`} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
