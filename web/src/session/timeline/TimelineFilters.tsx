import { Filter as Choice } from "@/ui/Field";
import { formatCount, formatDuration } from "@/ui/format";
import type { TimelineTurn } from "./model";
import { type Filter, SLOW_MS } from "./rows";
import { costWords, tokenWords, totalUsage } from "./words";

interface TimelineFiltersProps {
  turns: readonly TimelineTurn[];
  /** Older turns have not been read. */
  partial: boolean;
  filter: Filter;
  onChange: (filter: Filter) => void;
}

/** Which calls are shown, and what the turns took in all. */
export function TimelineFilters({ turns, partial, filter, onChange }: TimelineFiltersProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2 sm:px-6">
      <Choice
        label="Kind"
        className="w-36"
        value={filter.kind}
        none="All calls"
        options={[
          ["model", "Model calls"],
          ["tool", "Tool calls"],
          ["wait", "Waiting"],
          ["hook", "Hooks"],
        ]}
        onChange={(kind) => onChange({ ...filter, kind })}
      />
      <Choice
        label="Outcome"
        className="w-36"
        value={filter.only}
        none="Any outcome"
        options={[
          ["failed", "Failed"],
          ["slow", `${formatDuration(SLOW_MS)} or longer`],
        ]}
        onChange={(only) => onChange({ ...filter, only })}
      />
      <span className="ml-auto text-xs text-ink-2 tabular-nums">
        {partial && "Latest: "}
        {totals(turns).join(" · ")}
      </span>
    </div>
  );
}

function totals(turns: readonly TimelineTurn[]): string[] {
  const calls = turns.flatMap(({ spans }) => spans);
  const count = (kind: string, one: string) => {
    const n = calls.filter((span) => span.kind === kind).length;
    return `${formatCount(n)} ${one}${n === 1 ? "" : "s"}`;
  };
  const usage = totalUsage(turns);
  const tokens = tokenWords(usage);
  return [
    count("model", "model call"),
    count("tool", "tool call"),
    tokens && `${tokens} tokens`,
    costWords(usage),
  ].filter((words) => words !== "");
}
