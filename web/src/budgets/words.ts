import type {
  BudgetCheckStatus,
  BudgetRowFragment,
  BudgetStatus,
  BudgetSubject,
  CalendarUnit,
  PeriodKind,
} from "@/gql/graphql";
import { compareDecimals, subtractDecimals } from "@/money/decimal";
import type { Tone } from "@/ui/Badge";
import { formatToMinute } from "@/ui/format";

export type Budget = BudgetRowFragment;
export type Period = NonNullable<Budget["period"]>;

export const SUBJECTS: readonly BudgetSubject[] = ["ORG", "AGENT", "USER", "CUSTOMER", "SESSION"];

export const SUBJECT_LABELS: Record<BudgetSubject, string> = {
  ORG: "Organization",
  USER: "Member",
  AGENT: "Agent",
  SESSION: "Session",
  CUSTOMER: "Customer",
};

export const BUDGET_STATUSES: readonly BudgetStatus[] = [
  "ACTIVE",
  "PAUSED",
  "EXHAUSTED",
  "DISABLED",
];

export const STATUS_LABELS: Record<BudgetStatus, string> = {
  ACTIVE: "Active",
  PAUSED: "Past soft limit",
  EXHAUSTED: "Used up",
  DISABLED: "Disabled",
};

const STATUS_TONES: Record<BudgetStatus, Tone> = {
  ACTIVE: "ok",
  PAUSED: "warn",
  EXHAUSTED: "bad",
  DISABLED: "neutral",
};

interface Standing {
  label: string;
  tone: Tone;
}

/** How a session stands with its budgets, as the API says. */
export interface Check {
  status: BudgetCheckStatus;
  budgets: readonly { budget: Pick<Budget, "status" | "balance"> }[];
}

const TOO_LITTLE: Standing = { label: "Too little left", tone: "warn" };

/** How a budget stands: the server calls one exhausted that still has something, and too little for the next call. */
export function standing({ status, balance }: Pick<Budget, "status" | "balance">): Standing {
  return status === "EXHAUSTED" && compareDecimals(balance, "0") > 0
    ? TOO_LITTLE
    : { label: STATUS_LABELS[status], tone: STATUS_TONES[status] };
}

const CHECK_LABELS: Record<BudgetCheckStatus, string> = {
  NO_BUDGETS: "No budgets",
  ACTIVE: "Budget OK",
  WARNING: "Running low",
  PAUSED: "Past soft limit",
  EXHAUSTED: "Used up",
};

/** How a session stands with all of its budgets. */
export function checkStanding({ status, budgets }: Check): Standing {
  const stuck = budgets.filter(({ budget }) => budget.status === "EXHAUSTED");
  const some = stuck.length > 0 && stuck.every(({ budget }) => standing(budget).tone === "warn");
  return status === "EXHAUSTED" && some
    ? TOO_LITTLE
    : { label: CHECK_LABELS[status], tone: CHECK_TONES[status] };
}

/** What a top-up has to add at least, so that the budget holds `needed`; empty when it does. */
export function shortfall({ balance }: Pick<Budget, "balance">, needed = "0"): string {
  const missing = subtractDecimals(needed, balance);
  return compareDecimals(missing, "0") > 0 ? missing : "";
}

const CHECK_TONES: Record<BudgetCheckStatus, Tone> = {
  NO_BUDGETS: "neutral",
  ACTIVE: "ok",
  WARNING: "warn",
  PAUSED: "warn",
  EXHAUSTED: "bad",
};

export const KIND_LABELS: Record<PeriodKind, string> = {
  CALENDAR: "Each calendar period",
  ROLLING: "Rolling window",
  FIXED: "Every fixed length of time, from now",
};

export const UNITS: readonly CalendarUnit[] = ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"];

const LENGTHS: readonly [seconds: number, one: string][] = [
  [604_800, "week"],
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** A length of time in its largest whole unit: `7 days` is a week, 5400 seconds are 90 minutes. */
export function lengthWords(seconds: number): string {
  for (const [length, one] of LENGTHS) {
    if (seconds % length !== 0) continue;
    const count = seconds / length;
    return count === 1 ? one : `${count} ${one}s`;
  }
  return `${seconds} seconds`;
}

/** How a budget's periods follow each other. */
export function periodWords(period: Period | null): string {
  if (period === null) return "Never resets";
  const length = lengthWords(period.seconds ?? 0);
  switch (period.kind) {
    case "CALENDAR":
      return `Every ${(period.unit ?? "").toLowerCase()} (${period.timezone ?? "UTC"})`;
    case "ROLLING":
      // "The last day" could be yesterday.
      return period.seconds === 86_400 ? "The last 24 hours" : `The last ${length}`;
    case "FIXED":
      return `Every ${length}`;
  }
}

/** When there is more by itself, in the viewer's zone; null where that is never, or bit by bit. */
export function renewalWords({ periodEndsAt, status }: Budget): string | null {
  if (periodEndsAt === null || status === "DISABLED") return null;
  return `resets ${formatToMinute(periodEndsAt)}`;
}

const SOURCES: Readonly<Record<string, string>> = {
  MODEL_CALL: "Model call",
  TOOL_CALL: "Tool call",
  TOP_UP: "Top-up",
  ADJUSTMENT: "Adjustment",
  PAYMENT: "Payment",
};

/** What was metered. A newer server may know more. */
export function sourceWords(source: string): string {
  return SOURCES[source] ?? source.toLowerCase().replaceAll("_", " ");
}
