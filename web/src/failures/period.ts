import type { FailureInterval } from "@/gql/graphql";
import type { FailuresSearch } from "./search";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The periods to choose from, with their words. */
export const PERIODS = [
  ["24h", "24 hours"],
  [undefined, "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
] as const satisfies readonly (readonly [FailuresSearch["range"], string])[];

/** Whole hours or days of UTC, because failures are counted by those. */
export interface Period {
  from: string;
  to: string;
  interval: FailureInterval;
}

/** The period up to now, with the hour or the day that has begun. */
export function periodOf(range: FailuresSearch["range"], now: number): Period {
  const [step, steps] = range === "24h" ? [HOUR_MS, 24] : [DAY_MS, range ? parseInt(range, 10) : 7];
  const end = (Math.floor(now / step) + 1) * step;
  return {
    from: new Date(end - steps * step).toISOString(),
    to: new Date(end).toISOString(),
    interval: step === HOUR_MS ? "HOUR" : "DAY",
  };
}

/** How many failed in each interval of a period, oldest first. */
export function barsOf(
  { from, to, interval }: Period,
  counts: readonly { startsAt: string; turns: number }[],
): { startsAt: string; turns: number }[] {
  const step = interval === "HOUR" ? HOUR_MS : DAY_MS;
  const known = new Map(counts.map(({ startsAt, turns }) => [Date.parse(startsAt), turns]));
  const bars = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += step) {
    bars.push({ startsAt: new Date(at).toISOString(), turns: known.get(at) ?? 0 });
  }
  return bars;
}
