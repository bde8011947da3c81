import type { UsageSearch } from "./search";

const DAY_MS = 86_400_000;
/** What the API counts at most in one go. */
export const MOST_DAYS = 400;

const LENGTHS = { today: 1, "7d": 7, "30d": 30, "90d": 90 } as const;

/** Whole days of UTC, because the API's days are those. */
export interface Days {
  from: string;
  to: string;
  /** Each of them, e.g. 2026-01-31, oldest first. */
  days: readonly string[];
}

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function daysBetween(first: number, last: number): Days {
  const days: string[] = [];
  for (let at = first; at <= last; at += DAY_MS) days.push(dayOf(new Date(at)));
  return {
    from: new Date(first).toISOString(),
    to: new Date(last + DAY_MS).toISOString(),
    days,
  };
}

/** The days that the address asks for, or why they can't be shown. */
export function daysOf(search: UsageSearch, now: Date): Days | string {
  const today = startOf(dayOf(now));
  const range = search.range ?? "30d";
  if (range !== "custom") return daysBetween(today - (LENGTHS[range] - 1) * DAY_MS, today);
  if (search.from === undefined || search.to === undefined) {
    return "Choose a start and an end date.";
  }
  const first = startOf(search.from);
  const last = startOf(search.to);
  if (last < first) return "The end date is before the start date.";
  if ((last - first) / DAY_MS >= MOST_DAYS) return `Choose at most ${MOST_DAYS} days.`;
  return daysBetween(first, last);
}
