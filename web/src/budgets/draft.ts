import { changesOf } from "@/api/changes";
import type {
  BudgetPeriodInput,
  BudgetSubject,
  CalendarUnit,
  CreateBudgetInput,
  PeriodKind,
  UpdateBudgetInput,
} from "@/gql/graphql";
import { isDecimal, plainDecimal } from "@/money/decimal";
import type { Budget, Period } from "./words";

/** Periods as the form offers them: a length is a count of units. */
export interface PeriodDraft {
  kind: PeriodKind | "";
  unit: CalendarUnit;
  timezone: string;
  count: string;
  /** The seconds of one of them. */
  length: number;
}

export interface LimitsDraft {
  limit: string;
  softLimit: string;
  period: PeriodDraft;
}

export interface NewBudgetDraft extends LimitsDraft {
  subject: BudgetSubject;
  subjectId: string;
  currency: string;
}

export const DAY_SECONDS = 86_400;

export const LENGTH_UNITS: readonly [seconds: number, label: string][] = [
  [60, "minutes"],
  [3600, "hours"],
  [DAY_SECONDS, "days"],
];

export const NO_PERIOD: PeriodDraft = {
  kind: "",
  unit: "MONTH",
  timezone: "UTC",
  count: "30",
  length: DAY_SECONDS,
};

/** The present period of a budget as the form shows it. */
export function periodDraft(period: Period | null, zone: string): PeriodDraft {
  if (period === null) return { ...NO_PERIOD, timezone: zone };
  const seconds = period.seconds ?? 30 * DAY_SECONDS;
  const length = LENGTH_UNITS.findLast(([each]) => seconds % each === 0)?.[0] ?? 1;
  return {
    kind: period.kind,
    unit: period.unit ?? "MONTH",
    timezone: period.timezone ?? zone,
    count: String(seconds / length),
    length,
  };
}

const COUNT = /^[1-9]\d{0,8}$/;

/** What is wrong with a period before it is even sent; null when nothing is. */
export function periodProblem({ kind, count }: PeriodDraft): string | null {
  if (kind !== "ROLLING" && kind !== "FIXED") return null;
  return COUNT.test(count.trim()) ? null : "Enter a whole number above 0.";
}

export function periodInput(draft: PeriodDraft): BudgetPeriodInput | null {
  switch (draft.kind) {
    case "":
      return null;
    case "CALENDAR":
      return { kind: "CALENDAR", unit: draft.unit, timezone: draft.timezone.trim() };
    case "ROLLING":
    case "FIXED":
      return { kind: draft.kind, seconds: Number(draft.count) * draft.length };
  }
}

function samePeriod(input: BudgetPeriodInput | null, stored: Period | null): boolean {
  if (input === null || stored === null) return input === stored;
  return (
    input.kind === stored.kind &&
    (input.unit ?? null) === stored.unit &&
    (input.seconds ?? null) === stored.seconds &&
    (input.timezone ?? null) === stored.timezone
  );
}

/** What is wrong with an amount before it is even sent; the server says whether it is a good one. */
export function amountProblem(typed: string): string | null {
  const text = typed.trim();
  return text === "" || isDecimal(text) ? null : "Enter a number such as 25 or 0.50.";
}

function finished({ limit, softLimit, period }: LimitsDraft): boolean {
  return (
    isDecimal(limit) &&
    (softLimit.trim() === "" || isDecimal(softLimit)) &&
    periodProblem(period) === null
  );
}

/** Null while something is missing, or can't be sent. */
export function createBudgetInput(draft: NewBudgetDraft): CreateBudgetInput | null {
  const { subject, subjectId, currency, period } = draft;
  if (subjectId.trim() === "" || currency.trim() === "" || !finished(draft)) return null;
  return {
    subject,
    subjectId: subject === "CUSTOMER" ? subjectId : subjectId.trim(),
    currency: currency.trim(),
    ...amountsOf(draft),
    period: periodInput(period),
  };
}

/** Null when nothing differs from what is stored, or when it can't be sent. */
export function updateBudgetInput(draft: LimitsDraft, stored: Budget): UpdateBudgetInput | null {
  if (!finished(draft)) return null;
  const period = periodInput(draft.period);
  return changesOf(
    { ...amountsOf(draft), period },
    {
      limit: plainDecimal(stored.limit),
      softLimit: stored.softLimit && plainDecimal(stored.softLimit),
      period: samePeriod(period, stored.period) ? period : stored.period,
    },
  );
}

function amountsOf({ limit, softLimit }: LimitsDraft) {
  return {
    limit: plainDecimal(limit),
    softLimit: softLimit.trim() ? plainDecimal(softLimit) : null,
  };
}

/** The viewer's own time zone, which most would choose. */
export function viewerZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** What to suggest; any name of the tz database can be typed. */
export function zoneSuggestions(): string[] {
  return ["UTC", ...Intl.supportedValuesOf("timeZone").filter((each) => each !== "UTC")];
}
