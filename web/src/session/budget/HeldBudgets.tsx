import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useQuery } from "urql";
import { TopUpDialog } from "@/budgets/BudgetActs";
import { BudgetBar } from "@/budgets/BudgetBar";
import { type Budget, renewalWords, SUBJECT_LABELS, shortfall } from "@/budgets/words";
import { BudgetSubjectsDocument } from "@/gql/graphql";
import { Amount } from "@/money/Amount";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Standing } from "./Standing";

interface HeldBudgetsProps {
  /** Those that stand in the way. */
  budgets: readonly Budget[];
  onToppedUp: () => void;
  /** What the next call may need of a budget, by its id. */
  needed?: Readonly<Record<string, string>>;
}

/** The budgets that stand in the way, each with what can be done about it. */
export function HeldBudgets({ budgets, onToppedUp, needed }: HeldBudgetsProps) {
  const mayManage = useMay("BUDGETS_MANAGE");
  const [toppingUp, setToppingUp] = useState<Budget | null>(null);
  return (
    <>
      <ul className="space-y-2 empty:hidden" aria-label="Blocking budgets">
        {budgets.map((budget) => (
          <li key={budget.id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="min-w-40 flex-1">
              <span className="flex flex-wrap items-baseline justify-between gap-x-2">
                <Link
                  to="/budgets/$budgetId"
                  params={{ budgetId: budget.id }}
                  className="rounded font-medium underline underline-offset-2"
                >
                  {SUBJECT_LABELS[budget.subject]}, {budget.currency}
                </Link>
                <span className="text-xs wrap-anywhere tabular-nums">
                  <Standing budget={budget} />
                  <Missing budget={budget} needed={needed?.[budget.id]} />
                </span>
              </span>
              <span className="block py-1">
                <BudgetBar
                  budget={budget}
                  label={`Spent of the blocking budget: ${SUBJECT_LABELS[budget.subject]}, ${budget.currency}`}
                />
              </span>
              <span className="block text-xs first-letter:uppercase">{renewalWords(budget)}</span>
            </span>
            {mayManage && <Button onClick={() => setToppingUp(budget)}>Top up…</Button>}
          </li>
        ))}
      </ul>
      {!mayManage && <WhomToAsk />}
      {toppingUp && (
        <TopUpDialog
          budget={toppingUp}
          needed={needed?.[toppingUp.id]}
          onDone={onToppedUp}
          onClose={() => setToppingUp(null)}
        />
      )}
    </>
  );
}

/** What the next call needs beyond what is left. */
function Missing({ budget, needed }: { budget: Budget; needed: string | undefined }) {
  const missing = shortfall(budget, needed);
  if (needed === undefined || missing === "") return null;
  return (
    <>
      {" "}
      · needs about <Amount of={missing} currency={budget.currency} /> more
    </>
  );
}

const MOST_NAMES = 3;

/** Who may do something about it, for those who may not: by name where the viewer may read who is a member. */
function WhomToAsk() {
  const members = useMay("MEMBERS_READ");
  const [{ data }] = useQuery({
    query: BudgetSubjectsDocument,
    variables: { agents: false, members },
    pause: !members,
  });
  const names = (data?.org.members?.nodes ?? [])
    .filter(({ role }) => role === "OWNER" || role === "ADMIN")
    .map(({ user }) => user.name)
    .slice(0, MOST_NAMES);
  const whom =
    names.length === 0
      ? "an owner or admin"
      : new Intl.ListFormat("en", { type: "disjunction" }).format(names);
  return <p>Ask {whom} to resume it, top up the budget or raise its limit.</p>;
}
