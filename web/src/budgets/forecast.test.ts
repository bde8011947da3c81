import { expect, it } from "vitest";
import { forecast, startOfPeriod } from "./forecast";

const START = "2026-11-01T00:00:00.000Z";
const NEXT = "2026-12-01T00:00:00.000Z";
const day = (n: number) => new Date(Date.parse(START) + n * 86_400_000);

const month = {
  limit: "100",
  credits: "0",
  spent: "0",
  balance: "100",
  period: { kind: "CALENDAR", unit: "MONTH", seconds: null, timezone: "UTC" },
  periodStartedAt: START,
  periodEndsAt: NEXT,
  createdAt: START,
  status: "ACTIVE",
} as const;

it("has no pace before anything was spent, nor without time", () => {
  expect(forecast(month, day(3))).toEqual({ kind: "none" });
  expect(forecast({ ...month, spent: "1", balance: "99" }, day(0))).toEqual({ kind: "none" });
  expect(forecast({ ...month, spent: "1", balance: "99", status: "DISABLED" }, day(9))).toEqual({
    kind: "none",
  });
});

it("has no pace before an hour, or a twentieth of a short period, is over", () => {
  const used = { ...month, spent: "1", balance: "99" };
  const minute = (n: number) => day(n / 1440);
  expect(forecast(used, minute(59))).toEqual({ kind: "too-early" });
  expect(forecast(used, minute(60)).kind).toBe("runs-out");
  const hour = { ...used, periodEndsAt: minute(60).toISOString() };
  expect(forecast(hour, minute(2))).toEqual({ kind: "too-early" });
  expect(forecast(hour, minute(3)).kind).toBe("lasts");
  expect(forecast({ ...used, period: null, periodEndsAt: null }, minute(5)).kind).toBe("too-early");
});

it("goes on at the pace of the period so far", () => {
  // 10 a day: the other 50 last five days.
  expect(forecast({ ...month, spent: "50", balance: "50" }, day(5))).toEqual({
    kind: "runs-out",
    at: day(10),
  });
});

it("counts what was topped up as something left", () => {
  const topped = { ...month, spent: "50", credits: "50", balance: "100" };
  expect(forecast(topped, day(5))).toEqual({ kind: "runs-out", at: day(15) });
});

it("tells what is left where the period ends first", () => {
  // 1 a day: 30 at the end of 30 days.
  expect(forecast({ ...month, spent: "10", balance: "90" }, day(10))).toEqual({
    kind: "lasts",
    percentLeft: 70,
  });
});

it("runs out at the very end of a period only with the period", () => {
  expect(forecast({ ...month, spent: "50", balance: "50" }, day(15))).toEqual({
    kind: "lasts",
    percentLeft: 0,
  });
});

it("says so when nothing is left, also below nothing", () => {
  expect(forecast({ ...month, spent: "100", balance: "0" }, day(5))).toEqual({ kind: "used-up" });
  expect(forecast({ ...month, spent: "101", balance: "-1" }, day(5))).toEqual({ kind: "used-up" });
});

it("has no end without periods", () => {
  const once = { ...month, period: null, periodStartedAt: null, periodEndsAt: null };
  expect(forecast({ ...once, spent: "1", balance: "99" }, day(1))).toEqual({
    kind: "runs-out",
    at: day(100),
  });
  expect(forecast({ ...once, spent: "0.000000001", balance: "99.999999999" }, day(1))).toEqual({
    kind: "none",
  });
});

it("keeps the digits that a float would lose", () => {
  const large = { ...month, limit: "9000000000", period: null, periodEndsAt: null };
  const spent = "4499999999.999999999";
  const balance = "4500000000.000000001";
  expect(forecast({ ...large, spent, balance }, day(8))).toEqual({
    kind: "runs-out",
    at: day(16),
  });
});

it("looks back over a window that rolls, and not before the budget was made", () => {
  const rolling = {
    ...month,
    period: { kind: "ROLLING", unit: null, seconds: 10 * 86_400, timezone: null },
    periodEndsAt: null,
  } as const;
  expect(startOfPeriod(rolling, day(4))).toEqual(day(0));
  expect(startOfPeriod(rolling, day(40))).toEqual(day(30));
  // The window is full of this pace already: as much leaves it as comes.
  expect(forecast({ ...rolling, spent: "90", balance: "10" }, day(40)).kind).toBe("lasts");
  expect(forecast({ ...rolling, spent: "50", balance: "50" }, day(4))).toEqual({
    kind: "runs-out",
    at: day(8),
  });
});

it("says that too little is left, and not how long it lasts, when the next call may need more", () => {
  const stuck = { ...month, spent: "50", balance: "50", status: "EXHAUSTED" as const };
  expect(forecast(stuck, day(5))).toEqual({ kind: "too-little" });
});

it("begins no earlier than the budget itself", () => {
  const late = { ...month, createdAt: day(22).toISOString() };
  expect(startOfPeriod(late, day(23))).toEqual(day(22));
  // 10 in its only day, and not in 23.
  expect(forecast({ ...late, spent: "50", balance: "50" }, day(23))).toEqual({
    kind: "runs-out",
    at: day(24),
  });
});
