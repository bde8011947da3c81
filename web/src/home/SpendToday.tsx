import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { describeError } from "@/api/errors";
import { useFresh } from "@/api/useFresh";
import { BudgetBar, Left } from "@/budgets/BudgetBar";
import { periodWords } from "@/budgets/words";
import { BudgetsDocument } from "@/gql/graphql";
import { Amount } from "@/money/Amount";
import { useMay, useViewer } from "@/shell/viewer";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatCount } from "@/ui/format";
import { Cost } from "@/usage/Cost";
import { totalOf } from "@/usage/figures";
import { daysOf } from "@/usage/range";
import { useUsage } from "@/usage/useUsage";
import { Nothing, Section } from "./Section";

const MOST_BUDGETS = 20;
const SETTLE_MS = 1000;

/** What was spent today, and what is left of the organization's budgets. */
export function SpendToday({ working }: { working: string }) {
  const maySeeUsage = useMay("USAGE_READ");
  const maySeeBudgets = useMay("BUDGETS_READ");
  const version = useSettled(working);
  if (!maySeeUsage && !maySeeBudgets) return null;
  return (
    <Section
      title="Spend today"
      aside={
        maySeeUsage && (
          <Link to="/usage" className="rounded text-xs text-ink-2 hover:underline">
            Usage
          </Link>
        )
      }
    >
      {maySeeUsage && <Today version={version} />}
      {maySeeBudgets && <OrgBudgets version={version} />}
    </Section>
  );
}

/** Grows once the work under way has changed: what has ended has been paid for. */
function useSettled(working: string): number {
  const [version, setVersion] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: this is about what a change does.
  useEffect(() => {
    const timer = setTimeout(() => setVersion((old) => old + 1), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [working]);
  return version;
}

function Today({ version }: { version: number }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it may be tomorrow by then.
  const today = useMemo(() => daysOf({ range: "today" }, new Date()), [version]);
  const days = typeof today === "string" ? null : today;
  const { usage, error } = useUsage(["DAY"], days, version);
  if (error) {
    return (
      <div className="p-3">
        <ErrorNote>{describeError(error)}</ErrorNote>
      </div>
    );
  }
  // The same height before and after the answer.
  const totals = usage && totalOf(usage.rows);
  return (
    <p className="flex min-h-10 flex-wrap items-baseline gap-x-3 px-3.5 py-2.5">
      {totals && (
        <>
          <span className="text-base font-semibold tabular-nums">
            <Cost totals={totals} />
          </span>
          <span className="text-xs text-ink-3 tabular-nums">
            {formatCount(totals.inputTokens + totals.outputTokens)} tokens ·{" "}
            {formatCount(totals.turns)} {totals.turns === 1 ? "turn" : "turns"} · since 0:00 UTC
          </span>
        </>
      )}
    </p>
  );
}

function OrgBudgets({ version }: { version: number }) {
  const { org } = useViewer();
  const mayManage = useMay("BUDGETS_MANAGE");
  const { data, error, reload } = useFresh(BudgetsDocument, {
    first: MOST_BUDGETS,
    subject: "ORG",
    subjectId: org.id,
  });
  useEffect(() => {
    if (version > 0) reload();
  }, [version, reload]);
  const budgets = (data?.budgets.nodes ?? []).filter(({ status }) => status !== "DISABLED");
  if (error) {
    return (
      <div className="p-3">
        <ErrorNote>{describeError(error)}</ErrorNote>
      </div>
    );
  }
  if (data && budgets.length === 0) {
    return (
      <div className="border-t border-line">
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
      </div>
    );
  }
  return (
    <ul className="divide-y divide-line border-t border-line">
      {budgets.map((budget) => (
        <li key={budget.id} data-budget={budget.id} className="px-3.5 py-2 text-sm">
          <span className="flex flex-wrap items-baseline justify-between gap-x-3">
            <Link
              to="/budgets/$budgetId"
              params={{ budgetId: budget.id }}
              className="rounded underline-offset-2 hover:underline"
            >
              {periodWords(budget.period)}: <Amount of={budget.limit} currency={budget.currency} />
            </Link>
            <span className="text-xs wrap-anywhere text-ink-2 tabular-nums">
              <Left budget={budget} />
            </span>
          </span>
          <span className="block py-1.5">
            <BudgetBar budget={budget} label={`Spent of the budget in ${budget.currency}`} />
          </span>
        </li>
      ))}
    </ul>
  );
}
