import { expect, it } from "vitest";
import { errorRate, measuredWords, percentileWords } from "./figures";

it.each([
  [0, 0, null],
  [10, 0, "0%"],
  [100_000, 1, "<0.1%"],
  [1000, 24, "2.4%"],
  [100, 31, "31%"],
  [1000, 999, "99%"],
  [5, 5, "100%"],
  // They had begun before the period.
  [0, 2, "100%"],
  [1, 2, "100%"],
])("says of %i turns, of which %i failed, %s", (turns, failedTurns, rate) => {
  expect(errorRate({ turns, failedTurns })).toBe(rate);
});

it("says how long turns take, and how many it knows that of", () => {
  const times = { p50Ms: 850, p95Ms: 61_000, measured: 2000 };
  expect(percentileWords(times, 50)).toBe("850 ms");
  expect(percentileWords(times, 95)).toBe("1 min 1 s");
  expect(percentileWords(null, 95)).toBe("–");
  expect(measuredWords(times)).toBe("Of the newest 2,000 turns");
  expect(measuredWords({ ...times, measured: 1 })).toBe("Of 1 turn");
  expect(measuredWords(null)).toBeUndefined();
});
