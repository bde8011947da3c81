import type { PercentileFieldsFragment } from "@/gql/graphql";
import { formatCount, formatDuration } from "@/ui/format";

/** The share of turns that failed: `0%`, `<0.1%`, `2.4%`, `31%`; null without turns. */
export function errorRate({ turns, failedTurns }: { turns: number; failedTurns: number }) {
  if (turns === 0 && failedTurns === 0) return null;
  // A turn that failed may have begun before the period.
  const percent = turns === 0 ? 100 : Math.min((failedTurns / turns) * 100, 100);
  if (percent === 0) return "0%";
  if (percent < 0.1) return "<0.1%";
  const rounded = percent < 10 ? Math.round(percent * 10) / 10 : Math.round(percent);
  // Not all of them, as long as one went well.
  return `${rounded === 100 && failedTurns < turns ? 99 : rounded}%`;
}

export function percentileWords(times: PercentileFieldsFragment | null, percentile: 50 | 95) {
  if (times === null) return "–";
  return formatDuration(percentile === 50 ? times.p50Ms : times.p95Ms);
}

/** What percentiles are of, for those who wonder. */
export function measuredWords(times: PercentileFieldsFragment | null): string | undefined {
  if (times === null) return undefined;
  const { measured } = times;
  return measured === 1 ? "Of 1 turn" : `Of the newest ${formatCount(measured)} turns`;
}

export function turnWords(turns: number): string {
  return `${formatCount(turns)} ${turns === 1 ? "turn" : "turns"}`;
}
