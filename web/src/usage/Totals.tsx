import { formatCount } from "@/ui/format";
import { Cost } from "./Cost";
import type { Totals as Figures } from "./figures";

interface TotalsProps {
  totals: Figures;
  /** False where there was too much to add up. */
  complete: boolean;
}

/** The sums over all that was used. */
export function Totals({ totals, complete }: TotalsProps) {
  const cached = totals.cacheReadTokens + totals.cacheWriteTokens;
  const figures: [label: string, value: string][] = [
    ["Turns", formatCount(totals.turns)],
    ["Model calls", formatCount(totals.modelCalls)],
    ["Tool calls", formatCount(totals.toolCalls)],
    ["Input tokens", formatCount(totals.inputTokens)],
    ["Output tokens", formatCount(totals.outputTokens)],
    ...(cached > 0 ? [["Cached tokens", formatCount(cached)] as [string, string]] : []),
  ];
  return (
    <section aria-label="Total" className="card p-4">
      <p data-total={totals.costUsd} className="text-xl font-semibold tabular-nums">
        <Cost totals={totals} />
      </p>
      {totals.unpriced && (
        <p className="text-xs text-warn">
          Some calls had no price. The total leaves out hours with such calls.
        </p>
      )}
      {!complete && (
        <p className="text-xs text-warn">There is too much to add up. Choose fewer days.</p>
      )}
      <dl className="mt-3 grid grid-cols-2 gap-x-6 gap-y-3 text-sm sm:grid-cols-3 lg:grid-cols-6">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt className="text-xs text-ink-3">{label}</dt>
            <dd className="tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
