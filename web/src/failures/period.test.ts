import { expect, it } from "vitest";
import { barsOf, periodOf } from "./period";

const NOW = Date.parse("2026-03-10T15:30:00Z");

it("covers whole hours or days, with the one that has begun", () => {
  expect(periodOf("24h", NOW)).toEqual({
    from: "2026-03-09T16:00:00.000Z",
    to: "2026-03-10T16:00:00.000Z",
    interval: "HOUR",
  });
  expect(periodOf(undefined, NOW)).toEqual({
    from: "2026-03-04T00:00:00.000Z",
    to: "2026-03-11T00:00:00.000Z",
    interval: "DAY",
  });
  expect(periodOf("90d", NOW).from).toBe("2025-12-11T00:00:00.000Z");
});

it("has a bar for each interval, also for those in which nothing was counted", () => {
  const bars = barsOf(periodOf(undefined, NOW), [
    { startsAt: "2026-03-05T00:00:00Z", count: 3, bad: 3 },
    { startsAt: "2026-03-10T00:00:00Z", count: 1, bad: 1 },
  ]);
  expect(bars.map(({ count }) => count)).toEqual([0, 3, 0, 0, 0, 0, 1]);
});
