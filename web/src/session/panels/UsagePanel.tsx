import { Cost } from "@/money/Amount";
import { formatCount } from "@/ui/format";
import type { SessionState } from "../feed/state";
import { Panel } from "./Panel";

/** Read once and then counted on from the events, so it moves with every answer of a model. */
export function UsagePanel({ state, forked }: { state: SessionState; forked: boolean }) {
  const { usage, turnCount } = state;
  const lines: [string, string][] = [
    ["Turns", formatCount(turnCount)],
    ["Input tokens", formatCount(usage.inputTokens)],
    ["Output tokens", formatCount(usage.outputTokens)],
  ];
  if (usage.cacheReadTokens > 0) lines.push(["Cache reads", formatCount(usage.cacheReadTokens)]);
  if (usage.cacheWriteTokens > 0) lines.push(["Cache writes", formatCount(usage.cacheWriteTokens)]);
  if (usage.reasoningTokens > 0) lines.push(["Reasoning", formatCount(usage.reasoningTokens)]);
  return (
    <Panel title="Usage">
      <dl className="space-y-1 text-sm">
        {lines.map(([label, value]) => (
          <div key={label} className="flex justify-between">
            <dt className="text-ink-2">{label}</dt>
            <dd className="tabular-nums">{value}</dd>
          </div>
        ))}
        <div className="flex justify-between border-t border-line pt-1.5 font-medium">
          <dt>Cost</dt>
          <dd className="tabular-nums">
            <Cost usd={usage.costUsd} />
          </dd>
        </div>
      </dl>
      {forked && (
        <p className="mt-2 text-xs text-ink-3">Turns include the history; tokens and cost don't.</p>
      )}
    </Panel>
  );
}
