import { formatAmount, roundedAmount } from "@/money/amounts";
import { addDecimals, isNegative, percentOf, subtractDecimals } from "@/money/decimal";
import type { Tone } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { type Budget, standing } from "./words";

interface BudgetBarProps {
  budget: Pick<
    Budget,
    "limit" | "softLimit" | "spent" | "credits" | "reserved" | "balance" | "currency" | "status"
  >;
  /** Names it where the words beside it don't. */
  label: string;
}

const FILL: Record<Tone, string> = {
  ok: "bg-accent",
  accent: "bg-accent",
  warn: "bg-warn",
  bad: "bg-bad",
  neutral: "bg-line-strong",
};

/** How much of limit and top-ups was spent, in percent: what the bar shows, in words. */
export function usedPercent({
  spent,
  limit,
  credits,
}: Pick<Budget, "spent" | "limit" | "credits">) {
  return Math.round(percentOf(spent, addDecimals(limit, credits)));
}

/** How much of limit and top-ups was spent, what turns hold beyond that, and where the soft limit is. */
export function BudgetBar({ budget, label }: BudgetBarProps) {
  const { limit, softLimit, spent, credits, reserved, balance, currency } = budget;
  const whole = addDecimals(limit, credits);
  const used = percentOf(spent, whole);
  const held = Math.min(percentOf(reserved, whole), 100 - used);
  // A top-up moves the soft limit as well as the hard one.
  const soft = softLimit === null ? null : percentOf(addDecimals(softLimit, credits), whole);
  return (
    // biome-ignore lint/a11y/useSemanticElements: the parts of a meter element can't be coloured one by one.
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={used}
      aria-valuetext={`${formatAmount(spent, currency)} of ${formatAmount(whole, currency)} spent, ${leftWords(balance, currency)}`}
      className="relative h-2 w-full min-w-16 overflow-hidden rounded-full bg-line"
    >
      <span
        className={classes("absolute inset-y-0 left-0", FILL[standing(budget).tone])}
        style={{ width: `${used}%` }}
      />
      {held > 0 && (
        <span
          className="hatched absolute inset-y-0 border-0"
          style={{ left: `${used}%`, width: `${held}%` }}
        />
      )}
      {soft !== null && soft < 100 && (
        <span className="absolute inset-y-0 w-0.5 bg-ink" style={{ left: `${soft}%` }} />
      )}
    </div>
  );
}

export function leftWords(balance: string, currency: string): string {
  return isNegative(balance)
    ? `${formatAmount(subtractDecimals("0", balance), currency)} over`
    : `${formatAmount(balance, currency)} left`;
}

/** What is left of a budget, with all digits on hover. */
export function Left({
  budget: { balance, currency },
}: {
  budget: Pick<Budget, "balance" | "currency">;
}) {
  return (
    <span title={leftWords(balance, currency)}>
      {leftWords(roundedAmount(balance, currency), currency)}
    </span>
  );
}
