import { useEffect, useMemo, useState } from "react";
import uPlot from "uplot";
import { type Client, type CombinedError, useClient } from "urql";
import { describeError } from "@/api/errors";
import {
  amountAxis,
  type Colors,
  Plot,
  type PlotOptions,
  type PlotProps,
  timeAxis,
} from "@/charts/Plot";
import { BudgetLedgerDocument, type LedgerRowFragment } from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";
import { subtractDecimals } from "@/money/decimal";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatDateTime } from "@/ui/format";
import { Spinner } from "@/ui/Loading";
import { knownSince, levelsOf } from "./burndown";
import { forecast, startOfPeriod } from "./forecast";
import type { Budget } from "./words";

interface BurnDownProps {
  budget: Budget;
  /** Grows when it has to be read again. */
  version: number;
}

const PAGE = 100;
/** Enough for a shape; what is older than that is left out, and that is said. */
const MOST_PAGES = 10;

interface Postings {
  newestFirst: readonly LedgerRowFragment[];
  /** Whether they reach back to where the period began. */
  complete: boolean;
}

async function readPostings(
  client: Client,
  id: string,
  since: Date,
): Promise<Postings | CombinedError> {
  const newestFirst: LedgerRowFragment[] = [];
  let after: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer: Awaited<ReturnType<typeof ask>> = await ask(client, id, after);
    if (answer.error) return answer.error;
    const ledger = answer.data?.budget?.ledger;
    if (!ledger) return { newestFirst, complete: true };
    newestFirst.push(...ledger.nodes);
    const oldest = newestFirst.at(-1);
    const enough = oldest === undefined || Date.parse(oldest.createdAt) < since.getTime();
    if (enough || !ledger.pageInfo.hasNextPage) return { newestFirst, complete: true };
    after = ledger.pageInfo.endCursor;
  }
  return { newestFirst, complete: false };
}

function ask(client: Client, id: string, after: string | null) {
  const variables = { id, first: PAGE, after };
  return client
    .query(BudgetLedgerDocument, variables, { requestPolicy: "network-only" })
    .toPromise();
}

/** What was left of the budget in the course of its present period, and what comes of it at this pace. */
export default function BurnDown({ budget, version }: BurnDownProps) {
  const client = useClient();
  const [postings, setPostings] = useState<Postings | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const { id, balance, updatedAt } = budget;
  const [began, now] = useMemo(() => {
    const present = new Date();
    return [startOfPeriod(budget, present), present];
  }, [budget]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: read anew with each change of the budget.
  useEffect(() => {
    let current = true;
    void readPostings(client, id, began).then((read) => {
      if (!current) return;
      const ok = "newestFirst" in read;
      if (ok) setPostings(read);
      setProblem(ok ? null : describeError(read));
    });
    return () => {
      current = false;
    };
  }, [client, id, balance, updatedAt, version]);

  const drawn = useMemo(
    () => (postings ? drawing(budget, postings, began, now) : null),
    [budget, postings, began, now],
  );
  return (
    <section aria-label="Burn-down" className="card p-4">
      <h2 className="mb-2 text-sm font-medium">Balance over this period</h2>
      {problem && <ErrorNote>{problem}</ErrorNote>}
      {!postings && !problem && <Spinner label="Loading the ledger" />}
      {drawn === "empty" && <p className="text-sm text-ink-3">No activity in this period yet.</p>}
      {drawn !== null && drawn !== "empty" && (
        <>
          <Plot label={drawn.label} data={drawn.data} options={drawn.options} />
          <p className="mt-1 text-xs text-ink-3">{drawn.note}</p>
        </>
      )}
    </section>
  );
}

interface Drawing extends PlotProps {
  note: string;
}

function drawing(budget: Budget, postings: Postings, began: Date, now: Date): Drawing | "empty" {
  const { balance, currency, limit, softLimit } = budget;
  const since = knownSince(postings.newestFirst, began, postings.complete);
  const levels = levelsOf(balance, postings.newestFirst, since);
  if (levels.length === 0) return "empty";
  const told = forecast(budget, now);
  const end = told.kind === "runs-out" ? told.at.getTime() : null;
  // The axis does not follow a forecast into the next century.
  const span = now.getTime() - since.getTime();
  const tail = end === null ? null : Math.min(end, now.getTime() + span);
  const share = end === null || tail === null ? 0 : (end - tail) / (end - now.getTime());

  // Only here, for pixels, amounts become floats.
  const left = Number(balance);
  const xs = [...levels.map(({ at }) => at), now.getTime(), ...(tail === null ? [] : [tail])];
  const was = [
    ...levels.map((level) => Number(level.balance)),
    left,
    ...(tail === null ? [] : [null]),
  ];
  const comes = xs.map((_, index) => {
    if (tail === null) return null;
    if (index === xs.length - 1) return left * share;
    return index === xs.length - 2 ? left : null;
  });
  // Turns wait once less than this is left.
  const soft = softLimit === null ? null : Number(subtractDecimals(limit, softLimit));
  const data: uPlot.AlignedData = [xs.map((ms) => ms / 1000), was, comes, xs.map(() => soft)];
  const first = levels[0]?.balance ?? balance;
  return {
    data,
    options: (colors) => burnDownOptions(colors, currency),
    label: `Line chart: ${formatAmount(first, currency)} left at ${formatDateTime(since)}, ${formatAmount(balance, currency)} now.`,
    note: [
      postings.complete
        ? `Since ${formatDateTime(since)}, in ${currency}.`
        : `The newest ${postings.newestFirst.length} postings, since ${formatDateTime(since)}, in ${currency}.`,
      ...(tail === null ? [] : ["Dashed: at the current rate."]),
      ...(soft === null ? [] : ["Below the dotted line turns pause."]),
    ].join(" "),
  };
}

function burnDownOptions(colors: Colors, currency: string): PlotOptions {
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  return {
    scales: {
      y: { range: (_plot, low, high) => [Math.min(0, low), Math.max(high, 0) * 1.05 || 1] },
    },
    axes: [timeAxis(colors), amountAxis(colors, currency)],
    series: [
      {},
      {
        stroke: colors.accent,
        width: 2,
        points: { show: false },
        ...(stepped && { paths: stepped }),
      },
      { stroke: colors.bad, width: 1.5, dash: [6, 4], spanGaps: true, points: { show: false } },
      { stroke: colors.warn, width: 1.5, dash: [2, 4], points: { show: false } },
    ],
  };
}
