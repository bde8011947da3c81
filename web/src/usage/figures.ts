import type { UsageRowFieldsFragment } from "@/gql/graphql";
import { formatAmount, roundedAmount } from "@/money/amounts";
import { addDecimals, compareDecimals, isZero } from "@/money/decimal";
import type { UsageBy } from "./search";

export type UsageRow = UsageRowFieldsFragment;

/** Sums of rows, to the last digit. */
export interface Totals {
  costUsd: string;
  /** Some call had no price, so that the cost is what is known of it. */
  unpriced: boolean;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  turns: number;
  modelCalls: number;
  toolCalls: number;
}

export const NOTHING: Totals = {
  costUsd: "0",
  unpriced: false,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  turns: 0,
  modelCalls: 0,
  toolCalls: 0,
};

export function addRow(total: Totals, { usage, turns, modelCalls, toolCalls }: UsageRow): Totals {
  return {
    costUsd: usage.costUsd === null ? total.costUsd : addDecimals(total.costUsd, usage.costUsd),
    unpriced: total.unpriced || usage.costUsd === null,
    inputTokens: total.inputTokens + usage.inputTokens,
    outputTokens: total.outputTokens + usage.outputTokens,
    cacheReadTokens: total.cacheReadTokens + usage.cacheReadTokens,
    cacheWriteTokens: total.cacheWriteTokens + usage.cacheWriteTokens,
    turns: total.turns + turns,
    modelCalls: total.modelCalls + modelCalls,
    toolCalls: total.toolCalls + toolCalls,
  };
}

export function totalOf(rows: readonly UsageRow[]): Totals {
  return rows.reduce(addRow, NOTHING);
}

const WITHOUT: Record<UsageBy, string> = {
  MODEL: "Tool calls",
  AGENT: "No agent",
  CUSTOMER: "No customer key",
  USER: "No member or deleted",
  TOOL: "Model calls",
  SESSION: "Deleted sessions",
};

/** What it cost, maybe rounded. Of a row with a call that had no price, the server tells no cost at all. */
export function costWords({ costUsd, unpriced }: Totals, rounded = false): string {
  const cost = formatAmount(rounded ? roundedAmount(costUsd, "usd") : costUsd, "usd");
  if (!unpriced) return cost;
  return isZero(costUsd) ? "no price" : `at least ${cost}`;
}

/** What a row is about, and its name. Rows whose thing is gone have no id: they are one. */
export function subjectOf(row: UsageRow, by: UsageBy): { key: string; name: string } {
  const named = (key: string | undefined, name: string | null | undefined) => ({
    key: key ?? "",
    name: key === undefined ? WITHOUT[by] : (name ?? key),
  });
  switch (by) {
    case "MODEL":
      return named(row.model?.id, row.model?.displayName);
    case "AGENT":
      return named(row.agent?.id, row.agent?.displayName);
    case "CUSTOMER":
      return named(row.customerKey ?? undefined, row.customerKey);
    case "USER":
      return named(row.user?.id, row.user?.email);
    case "TOOL":
      return named(row.tool ?? undefined, row.tool);
    case "SESSION":
      return named(row.session?.id, row.session?.title ?? "Untitled session");
  }
}

export interface Line {
  key: string;
  name: string;
  totals: Totals;
}

/** One line per subject, the dearest first; among equals the one with more calls, then by name. */
export function linesOf(rows: readonly UsageRow[], by: UsageBy): Line[] {
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const { key, name } = subjectOf(row, by);
    const totals = addRow(lines.get(key)?.totals ?? NOTHING, row);
    lines.set(key, { key, name, totals });
  }
  const calls = ({ totals }: Line) => totals.modelCalls + totals.toolCalls;
  return [...lines.values()].sort(
    (left, right) =>
      compareDecimals(right.totals.costUsd, left.totals.costUsd) ||
      calls(right) - calls(left) ||
      left.name.localeCompare(right.name),
  );
}

export type Measure = "cost" | "tokens";

export function measured(totals: Totals, measure: Measure): string {
  return measure === "cost" ? totals.costUsd : String(totals.inputTokens + totals.outputTokens);
}

/** One colour of the chart: its amount on each day, and in all. */
export interface Series {
  name: string;
  byDay: readonly string[];
  total: string;
}

/** More colours than that can't be told apart. */
const MOST_SERIES = 6;

/** The amounts of rows by day, in as many series as can be told apart, the largest first; the last one is all others. */
export function seriesOf(
  rows: readonly UsageRow[],
  by: UsageBy,
  days: readonly string[],
  measure: Measure,
): Series[] {
  const found = new Map<string, { name: string; byDay: string[]; total: string }>();
  const index = new Map(days.map((day, at) => [day, at]));
  for (const row of rows) {
    const at = row.day === null ? undefined : index.get(row.day);
    if (at === undefined) continue;
    const { key, name } = subjectOf(row, by);
    const series = found.get(key) ?? { name, byDay: days.map(() => "0"), total: "0" };
    const amount = measured(addRow(NOTHING, row), measure);
    series.byDay[at] = addDecimals(series.byDay[at] ?? "0", amount);
    series.total = addDecimals(series.total, amount);
    found.set(key, series);
  }
  const all = [...found.values()]
    .filter(({ total }) => compareDecimals(total, "0") !== 0)
    .sort(
      (left, right) =>
        compareDecimals(right.total, left.total) || left.name.localeCompare(right.name),
    );
  if (all.length <= MOST_SERIES) return all;
  const others = all.slice(MOST_SERIES - 1);
  return [
    ...all.slice(0, MOST_SERIES - 1),
    {
      name: `${others.length} others`,
      byDay: days.map((_, at) =>
        others.reduce((sum, { byDay }) => addDecimals(sum, byDay[at] ?? "0"), "0"),
      ),
      total: others.reduce((sum, { total }) => addDecimals(sum, total), "0"),
    },
  ];
}
