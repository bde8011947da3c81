import { Link, useParams } from "@tanstack/react-router";
import { Ban, Coins, Pencil } from "lucide-react";
import { type ReactNode, Suspense, useState } from "react";
import { lazy } from "@/api/reachable";
import { useFresh } from "@/api/useFresh";
import { BudgetDocument } from "@/gql/graphql";
import { Amount } from "@/money/Amount";
import { isZero } from "@/money/decimal";
import { Missing } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { Button, ReloadButton } from "@/ui/Button";
import { formatDateTime } from "@/ui/format";
import { Spinner } from "@/ui/Loading";
import { PageHeader, Trail } from "@/ui/PageHeader";
import { DisableDialog, TopUpDialog } from "./BudgetActs";
import { BudgetBar, Left, usedPercent } from "./BudgetBar";
import { EditBudgetDialog } from "./BudgetForms";
import type { BudgetAct } from "./BudgetTable";
import { ForecastLine } from "./ForecastLine";
import { Ledger } from "./Ledger";
import { StandingBadge } from "./StandingBadge";
import { SubjectName, useName, useSubjectNames } from "./subjects";
import { useLookAgain } from "./useLookAgain";
import { type Budget, periodWords, SUBJECT_LABELS } from "./words";

const BurnDown = lazy(() => import("./BurnDown"));

const DIALOGS = { edit: EditBudgetDialog, topUp: TopUpDialog, disable: DisableDialog } as const;

/** One budget: what is left of it, how fast it goes, and all that was posted. */
export function BudgetPage() {
  const { budgetId } = useParams({ from: "/app/budgets/$budgetId" });
  const { data, error, fetching, reload } = useFresh(BudgetDocument, { id: budgetId });
  const budget = data?.budget;
  if (budget) return <BudgetView key={budget.id} budget={budget} onReload={reload} />;
  return <Missing fetching={fetching} error={error} reload={reload} />;
}

interface BudgetViewProps {
  budget: Budget;
  onReload: () => void;
}

function BudgetView({ budget, onReload }: BudgetViewProps) {
  const mayManage = useMay("BUDGETS_MANAGE");
  const [act, setAct] = useState<BudgetAct | null>(null);
  // The ledger is read with the budget, so that the two agree.
  const [version, setVersion] = useState(0);
  const names = useSubjectNames();
  const { status } = budget;
  const ActDialog = act && DIALOGS[act];
  const reload = () => {
    onReload();
    setVersion(version + 1);
  };
  useLookAgain(onReload, act !== null);

  return (
    <>
      <PageHeader
        subject={useName({ ...budget, names })}
        title={
          <Trail
            list={<Link to="/budgets">Budgets</Link>}
            name={<SubjectName {...budget} names={names} />}
          >
            <StandingBadge budget={budget} />
          </Trail>
        }
      >
        <ReloadButton onClick={reload} />
        {mayManage && status !== "DISABLED" && (
          <>
            <Button look="ghost" onClick={() => setAct("disable")}>
              <Ban size={14} aria-hidden />
              Disable
            </Button>
            <Button onClick={() => setAct("edit")}>
              <Pencil size={14} aria-hidden />
              Edit
            </Button>
            <Button look="primary" onClick={() => setAct("topUp")}>
              <Coins size={15} aria-hidden />
              Top up
            </Button>
          </>
        )}
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-5xl space-y-6 p-4 sm:p-6">
          <section aria-label="Balance" className="card space-y-4 p-4">
            <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
              <p className="text-xl font-semibold tabular-nums" data-balance={budget.balance}>
                <Left budget={budget} />
              </p>
              <p className="text-sm text-ink-2">
                {usedPercent(budget)}% used · {SUBJECT_LABELS[budget.subject]} ·{" "}
                {periodWords(budget.period)}
              </p>
            </div>
            <BudgetBar budget={budget} label="Spent of the budget" />
            <Figures budget={budget} />
            <ForecastLine budget={budget} />
          </section>
          <Suspense fallback={<Spinner label="Loading the chart" />}>
            <BurnDown budget={budget} version={version} />
          </Suspense>
          <Ledger budget={budget} version={version} />
        </div>
      </div>
      {ActDialog && <ActDialog budget={budget} onClose={() => setAct(null)} />}
    </>
  );
}

function Figures({ budget }: { budget: Budget }) {
  const { currency, limit, softLimit, spent, credits, reserved } = budget;
  const amount = (of: string) => <Amount of={of} currency={currency} />;
  const figures: [label: string, value: ReactNode][] = [
    ["Limit", amount(limit)],
    ["Soft limit", softLimit === null ? "–" : amount(softLimit)],
    ["Spent", amount(spent)],
    ["Topped up", isZero(credits) ? "–" : amount(credits)],
    ["Reserved", isZero(reserved) ? "–" : amount(reserved)],
    ["Started", budget.periodStartedAt === null ? "–" : formatDateTime(budget.periodStartedAt)],
    ["Resets", budget.periodEndsAt === null ? "–" : formatDateTime(budget.periodEndsAt)],
  ];
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-3 text-sm sm:grid-cols-4">
      {figures.map(([label, value]) => (
        <div key={label} className="min-w-0">
          <dt className="text-xs text-ink-3">{label}</dt>
          <dd className="wrap-anywhere tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
