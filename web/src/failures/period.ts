import type { Bar } from "@/charts/Bars";
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
  if (range === "24h") return upTo(now, "HOUR", 24);
  return upTo(now, "DAY", range ? parseInt(range, 10) : 7);
}

/** So many hours or days up to now. */
export function upTo(now: number, interval: FailureInterval, steps: number): Period {
  const step = interval === "HOUR" ? HOUR_MS : DAY_MS;
  const end = (Math.floor(now / step) + 1) * step;
  return {
    from: new Date(end - steps * step).toISOString(),
    to: new Date(end).toISOString(),
    interval,
  };
}

/** A bar for each interval of a period, oldest first, also where nothing was counted. */
export function barsOf({ from, to, interval }: Period, counted: readonly Bar[]): Bar[] {
  const step = interval === "HOUR" ? HOUR_MS : DAY_MS;
  const known = new Map(counted.map((bar) => [Date.parse(bar.startsAt), bar]));
  const bars = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += step) {
    const { count, bad } = known.get(at) ?? { count: 0, bad: 0 };
    bars.push({ startsAt: new Date(at).toISOString(), count, bad });
  }
  return bars;
}
