import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import uPlot from "uplot";
import {
  amountAxis,
  axis,
  type Colors,
  Plot,
  type PlotOptions,
  type PlotProps,
} from "@/charts/Plot";
import { Amount } from "@/money/Amount";
import { formatAmount } from "@/money/amounts";
import { addDecimals, sumDecimals } from "@/money/decimal";
import { type Change, changed } from "@/shell/search";
import { RequestError } from "@/ui/ErrorNote";
import { Select } from "@/ui/Field";
import { formatDay, formatShortDay } from "@/ui/format";
import { Spinner } from "@/ui/Loading";
import { type Measure, type Series, seriesOf } from "./figures";
import type { Days } from "./range";
import type { UsageSearch } from "./search";
import { useUsage } from "./useUsage";

interface SpendChartProps {
  days: Days;
  search: UsageSearch;
  version: number;
}

/** Far enough from each other in lightness and hue, on light and on dark. */
const PALETTE = ["#4f6bd8", "#d9764a", "#2f9e77", "#b8902a", "#a05ac8", "#808a96"];

/** What was spent on each day, stacked by model or agent. */
export default function SpendChart({ days, search, version }: SpendChartProps) {
  const navigate = useNavigate({ from: "/usage" });
  const change = (next: Change<UsageSearch>) =>
    void navigate({ search: (old) => changed(old, next), replace: true });
  const by = search.stack ?? "MODEL";
  const measure: Measure = search.measure ?? "cost";
  const { usage, error, loading } = useUsage(["DAY", by], days, version);
  const series = useMemo(
    () => (usage ? seriesOf(usage.rows, by, days.days, measure) : []),
    [usage, by, days, measure],
  );
  const currency = measure === "cost" ? "usd" : "tokens";
  const drawn = useMemo(() => drawing(days, series, currency), [days, series, currency]);
  return (
    <section aria-label="Over time" className="card p-4">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-sm font-medium">By day</h2>
        <div className="flex flex-wrap gap-2">
          <Select
            aria-label="Measure"
            className="w-28"
            value={measure}
            options={[
              ["cost", "Cost"],
              ["tokens", "Tokens"],
            ]}
            onChange={(next) => change({ measure: next === "tokens" ? next : undefined })}
          />
          <Select
            aria-label="Stacked by"
            className="w-36"
            value={by}
            options={[
              ["MODEL", "By model"],
              ["AGENT", "By agent"],
            ]}
            onChange={(next) => change({ stack: next === "AGENT" ? next : undefined })}
          />
        </div>
      </div>
      <RequestError error={error} />
      {loading && <Spinner label="Loading usage" />}
      {usage && !usage.complete && (
        <p className="text-xs text-warn">There is too much to show. Choose fewer days.</p>
      )}
      {usage && series.length === 0 && (
        <p className="text-sm text-ink-3">
          {measure === "cost" ? "No cost in this period." : "No model calls in this period."}
        </p>
      )}
      {drawn && (
        <>
          <Plot
            label={`Bar chart: ${formatAmount(sumDecimals(series.map(({ total }) => total)), currency)} over ${days.days.length} days.`}
            data={drawn.data}
            options={drawn.options}
          />
          <ul aria-label="Colours" className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs">
            {series.map(({ name, total }, index) => (
              <li key={name} className="flex min-w-0 items-center gap-1.5">
                <span
                  aria-hidden
                  className="size-2.5 shrink-0 rounded-sm"
                  style={{ backgroundColor: PALETTE[index] }}
                />
                <span className="wrap-anywhere">{name}</span>
                <span className="text-ink-3 tabular-nums">
                  <Amount of={total} currency={currency} />
                </span>
              </li>
            ))}
          </ul>
          <DayTable days={days} series={series} currency={currency} />
        </>
      )}
    </section>
  );
}

interface DayTableProps {
  days: Days;
  series: readonly Series[];
  currency: string;
}

/** What the bars say, to the last digit. */
function DayTable({ days, series, currency }: DayTableProps) {
  const used = days.days
    .map((day, at) => ({ day, sum: sumDecimals(series.map(({ byDay }) => byDay[at] ?? "0")) }))
    .filter(({ sum }) => sum !== "0");
  return (
    <details className="mt-3 text-sm">
      <summary className="w-fit cursor-pointer rounded text-xs text-ink-2 hover:text-ink">
        As a table
      </summary>
      <table aria-label="Sums by day" className="mt-2">
        <tbody>
          {used.map(({ day, sum }) => (
            <tr key={day} data-day={day}>
              <th scope="row" className="pr-6 text-left font-normal text-ink-2 tabular-nums">
                {formatDay(day)}
              </th>
              <td className="text-right tabular-nums">{formatAmount(sum, currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function drawing(
  days: Days,
  series: readonly Series[],
  currency: string,
): Pick<PlotProps, "data" | "options"> | null {
  if (series.length === 0) return null;
  const sums = days.days.map(() => "0");
  // Each series is drawn up to the sum of all below it, the highest first, so that the lower ones cover it.
  const stacked = series.map(({ byDay }) =>
    byDay.map((amount, at) => {
      const sum = addDecimals(sums[at] ?? "0", amount);
      sums[at] = sum;
      // Only here, for pixels, amounts become floats.
      return Number(sum);
    }),
  );
  const xs = days.days.map((_, at) => at);
  return {
    data: [xs, ...stacked.toReversed()],
    options: (colors) => barOptions(colors, days.days, series.length, currency),
  };
}

function barOptions(
  colors: Colors,
  days: readonly string[],
  count: number,
  currency: string,
): PlotOptions {
  const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
  return {
    scales: {
      x: { time: false, range: [-0.6, days.length - 0.4] },
      y: { range: (_plot, _low, high) => [0, (high || 1) * 1.05] },
    },
    axes: [
      axis(colors, {
        grid: { show: false },
        size: 28,
        // A label per day at most.
        incrs: [1, 2, 7, 14, 30, 60, 90],
        values: (_plot, splits) =>
          splits.map((at) => {
            const day = days[at];
            return day === undefined ? "" : formatShortDay(day);
          }),
      }),
      amountAxis(colors, currency),
    ],
    series: [
      {},
      ...Array.from({ length: count }, (_, index) => ({
        fill: PALETTE[count - 1 - index] ?? colors.ink,
        width: 0,
        points: { show: false },
        ...(bars && { paths: bars }),
      })),
    ],
  };
}
