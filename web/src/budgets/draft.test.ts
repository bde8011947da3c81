import { expect, it } from "vitest";
import {
  amountProblem,
  createBudgetInput,
  NO_PERIOD,
  periodDraft,
  periodInput,
  periodProblem,
  updateBudgetInput,
} from "./draft";
import { type Budget, lengthWords, periodWords } from "./words";

const NEW = {
  subject: "CUSTOMER",
  subjectId: "acme ",
  currency: " usd",
  limit: " 25.50 ",
  softLimit: "",
  period: NO_PERIOD,
} as const;

const STORED: Budget = {
  id: "bdgt_1",
  subject: "ORG",
  subjectId: "org_1",
  currency: "usd",
  limit: "25.5",
  softLimit: "20",
  balance: "25.5",
  reserved: "0",
  spent: "0",
  credits: "0",
  period: { kind: "CALENDAR", unit: "MONTH", seconds: null, timezone: "Europe/Berlin" },
  periodStartedAt: null,
  periodEndsAt: null,
  status: "ACTIVE",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};

it("sends a new budget as it was typed, amounts without needless zeros, and a customer's key to the letter", () => {
  expect(createBudgetInput(NEW)).toEqual({
    subject: "CUSTOMER",
    subjectId: "acme ",
    currency: "usd",
    limit: "25.5",
    softLimit: null,
    period: null,
  });
});

it("waits until all is there", () => {
  expect(createBudgetInput({ ...NEW, subjectId: " " })).toBeNull();
  expect(createBudgetInput({ ...NEW, limit: "" })).toBeNull();
  expect(createBudgetInput({ ...NEW, limit: "1e3" })).toBeNull();
  expect(createBudgetInput({ ...NEW, softLimit: "many" })).toBeNull();
  expect(
    createBudgetInput({ ...NEW, period: { ...NO_PERIOD, kind: "FIXED", count: "0" } }),
  ).toBeNull();
});

it("makes seconds of a length", () => {
  const period = { ...NO_PERIOD, kind: "ROLLING", count: "36", length: 3600 } as const;
  expect(periodInput(period)).toEqual({ kind: "ROLLING", seconds: 129_600 });
  expect(periodProblem({ ...period, count: "1.5" })).toMatch(/whole number/);
  expect(periodProblem({ ...NO_PERIOD, count: "" })).toBeNull();
});

it("shows a stored period so that nothing has changed", () => {
  for (const period of [
    null,
    STORED.period,
    { kind: "FIXED", unit: null, seconds: 7 * 86_400, timezone: null },
    { kind: "ROLLING", unit: null, seconds: 5400, timezone: null },
    { kind: "ROLLING", unit: null, seconds: 61, timezone: null },
  ] as const) {
    const draft = { limit: "25.50", softLimit: "20.0", period: periodDraft(period, "UTC") };
    expect(updateBudgetInput(draft, { ...STORED, period })).toBeNull();
  }
});

it("sends only what differs", () => {
  const draft = { limit: "25.5", softLimit: "20", period: periodDraft(STORED.period, "UTC") };
  expect(updateBudgetInput({ ...draft, limit: "30" }, STORED)).toEqual({ limit: "30" });
  expect(updateBudgetInput({ ...draft, softLimit: "" }, STORED)).toEqual({ softLimit: null });
  expect(updateBudgetInput({ ...draft, period: NO_PERIOD }, STORED)).toEqual({ period: null });
  expect(
    updateBudgetInput({ ...draft, period: { ...draft.period, timezone: "Asia/Tokyo" } }, STORED),
  ).toEqual({ period: { kind: "CALENDAR", unit: "MONTH", timezone: "Asia/Tokyo" } });
});

it("tells what is no amount", () => {
  expect(amountProblem("0.000000001")).toBeNull();
  expect(amountProblem("")).toBeNull();
  expect(amountProblem("1,5")).toMatch(/number/);
});

it("names periods by their largest unit", () => {
  expect(lengthWords(604_800)).toBe("week");
  expect(lengthWords(2 * 86_400)).toBe("2 days");
  expect(lengthWords(5400)).toBe("90 minutes");
  expect(periodWords(STORED.period)).toBe("Every month (Europe/Berlin)");
  expect(periodWords({ kind: "ROLLING", unit: null, seconds: 3600, timezone: null })).toBe(
    "The last hour",
  );
  expect(periodWords({ kind: "ROLLING", unit: null, seconds: 86_400, timezone: null })).toBe(
    "The last 24 hours",
  );
  expect(periodWords(null)).toBe("Never resets");
});
