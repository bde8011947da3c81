import type { UsageGroup } from "@/gql/graphql";
import { oneOf, searchOf } from "@/shell/search";

/** The ranges of days to choose from, with their words. */
export const RANGES = [
  ["today", "Today"],
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["custom", "Custom"],
] as const;

/** What the tables may be by: the groups without the day. */
export type UsageBy = Exclude<UsageGroup, "DAY">;

export const USAGE_BY: readonly UsageBy[] = [
  "MODEL",
  "AGENT",
  "CUSTOMER",
  "USER",
  "TOOL",
  "SESSION",
];

function day(value: unknown): string | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return undefined;
  const date = new Date(`${value}T00:00:00Z`);
  const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
  return exists ? value : undefined;
}

const read = searchOf({
  /** 30 days without it. */
  range: oneOf(RANGES.map(([range]) => range)),
  /** The first and the last day of a custom range, in UTC. */
  from: day,
  to: day,
  /** What the table is by; the model without it. */
  by: oneOf(USAGE_BY),
  /** What the chart is stacked by, and what it measures; the model and money without them. */
  stack: oneOf(["AGENT"]),
  measure: oneOf(["tokens"]),
});

/** What the address of the usage holds. */
export type UsageSearch = ReturnType<typeof read>;

export function usageSearch(search: Record<string, unknown>): UsageSearch {
  const { from, to, ...rest } = read(search);
  return rest.range === "custom" ? read(search) : rest;
}
