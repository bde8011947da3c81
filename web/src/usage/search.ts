import type { UsageGroup } from "@/gql/graphql";

export type UsageRange = "today" | "7d" | "30d" | "90d" | "custom";

/** What the tables may be by: the groups without the day. */
export type UsageBy = Exclude<UsageGroup, "DAY">;

/** What the address of the usage holds. */
export interface UsageSearch {
  /** 30 days without it. */
  range?: UsageRange;
  /** The first and the last day of a custom range, in UTC. */
  from?: string;
  to?: string;
  /** What the table is by; the model without it. */
  by?: UsageBy;
  /** What the chart is stacked by, and what it measures; the model and money without them. */
  stack?: "AGENT";
  measure?: "tokens";
}

const RANGES: readonly UsageRange[] = ["today", "7d", "30d", "90d", "custom"];
export const USAGE_BY: readonly UsageBy[] = [
  "MODEL",
  "AGENT",
  "CUSTOMER",
  "USER",
  "TOOL",
  "SESSION",
];

export function isDay(text: unknown): text is string {
  if (typeof text !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

export function usageSearch(search: Record<string, unknown>): UsageSearch {
  const range = RANGES.find((each) => each === search.range);
  const by = USAGE_BY.find((each) => each === search.by);
  return {
    ...(range ? { range } : {}),
    ...(range === "custom" && isDay(search.from) ? { from: search.from } : {}),
    ...(range === "custom" && isDay(search.to) ? { to: search.to } : {}),
    ...(by ? { by } : {}),
    ...(search.stack === "AGENT" ? { stack: "AGENT" } : {}),
    ...(search.measure === "tokens" ? { measure: "tokens" } : {}),
  };
}
