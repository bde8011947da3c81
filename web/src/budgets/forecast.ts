import {
  addDecimals,
  compareDecimals,
  isNegative,
  isZero,
  percentOf,
  scaleWhole,
} from "@/money/decimal";
import type { Budget } from "./words";

type Figures = Pick<
  Budget,
  | "limit"
  | "credits"
  | "spent"
  | "balance"
  | "period"
  | "periodStartedAt"
  | "periodEndsAt"
  | "createdAt"
  | "status"
>;

export type Forecast =
  /** Nothing was spent yet, or the budget is out of force: there is no pace. */
  | { kind: "none" }
  /** Too little of the period is over for a pace: every call would move it by days. */
  | { kind: "too-early" }
  | { kind: "used-up" }
  /** Something is left, and the next call may need more: a pace says nothing. */
  | { kind: "too-little" }
  /** At the pace of the period so far, nothing is left at that time. */
  | { kind: "runs-out"; at: Date }
  /** It lasts until the period ends, with about so much left of limit and credits. */
  | { kind: "lasts"; percentLeft: number };

/** Beyond that a date says nothing. */
const FARTHEST_MS = 100 * 365 * 86_400_000;

const HOUR_MS = 3_600_000;

/** A pace is that of an hour at least, or of a twentieth of a short period. */
const LEAST_SHARE = 1 / 20;

/** When the present period or rolling window began, and not before there was the budget. */
export function startOfPeriod(figures: Figures, now: Date): Date {
  const { period, periodStartedAt, createdAt } = figures;
  const began =
    period?.kind === "ROLLING"
      ? now.getTime() - (period.seconds ?? 0) * 1000
      : Date.parse(periodStartedAt ?? createdAt);
  return new Date(Math.max(began, Date.parse(createdAt)));
}

/** When the present period ends; that of a rolling window is when its first moment leaves it. Null for never. */
function endOfPeriod(figures: Figures, start: Date): Date | null {
  const { period, periodEndsAt } = figures;
  if (period?.kind === "ROLLING") return new Date(start.getTime() + (period.seconds ?? 0) * 1000);
  return periodEndsAt === null ? null : new Date(periodEndsAt);
}

/** What comes of a budget if it is spent as fast as in its period so far. */
export function forecast(figures: Figures, now: Date): Forecast {
  const { limit, credits, spent, balance, status } = figures;
  if (status === "DISABLED") return { kind: "none" };
  if (isNegative(balance) || isZero(balance)) return { kind: "used-up" };
  if (status === "EXHAUSTED") return { kind: "too-little" };
  const start = startOfPeriod(figures, now);
  const elapsed = now.getTime() - start.getTime();
  if (elapsed <= 0 || compareDecimals(spent, "0") <= 0) return { kind: "none" };
  const end = endOfPeriod(figures, start);
  const share = end === null ? HOUR_MS : (end.getTime() - start.getTime()) * LEAST_SHARE;
  if (elapsed < Math.min(HOUR_MS, share)) return { kind: "too-early" };
  const left = scaleWhole(elapsed, balance, spent);
  if (end === null || left < end.getTime() - now.getTime()) {
    if (left > FARTHEST_MS) return { kind: "none" };
    return { kind: "runs-out", at: new Date(now.getTime() + left) };
  }
  // Of what is left, the rest of the period takes its share.
  const rest = Math.max(0, end.getTime() - now.getTime());
  const whole = addDecimals(limit, credits);
  const restShare = left === 0 ? 0 : rest / left;
  return { kind: "lasts", percentLeft: Math.round(percentOf(balance, whole) * (1 - restShare)) };
}
