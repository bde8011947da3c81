import { expect, it } from "vitest";
import {
  formatBytes,
  formatCount,
  formatDay,
  formatDuration,
  formatRelative,
  formatShortDay,
} from "./format";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it.each([
  [0.4, "<1 ms"],
  [999.4, "999 ms"],
  [999.6, "1 s"],
  [1250, "1.3 s"],
  [9960, "10 s"],
  [59_400, "59 s"],
  [59_700, "1 min"],
  [185_000, "3 min 5 s"],
  [119_700, "2 min"],
  [HOUR - 200, "1 h"],
  [2 * HOUR + 5 * MINUTE, "2 h 5 min"],
  [24 * HOUR, "1 d"],
  [52 * HOUR, "2 d 4 h"],
])("writes %d ms as %s", (ms, words) => expect(formatDuration(ms)).toBe(words));

it("writes counts with all of their digits", () => {
  expect(formatCount(17_362)).toBe("17,362");
  expect(formatCount(1_200_000)).toBe("1,200,000");
});

it.each([
  [999, "999 B"],
  [1000, "1 kB"],
  [999_960, "1 MB"],
  [1_250_000, "1.3 MB"],
  [10_000_000_000, "10 GB"],
])("writes %d bytes as %s", (bytes, words) => expect(formatBytes(bytes)).toBe(words));

it("writes times of the last month as how long ago they were", () => {
  const now = Date.parse("2026-11-22T10:00:00.000Z");
  const ago = (ms: number) => formatRelative(new Date(now - ms).toISOString(), now);
  expect(ago(30_000)).toBe("just now");
  expect(ago(5 * MINUTE)).toBe("5m ago");
  expect(ago(24 * HOUR)).toBe("yesterday");
  expect(ago(31 * 24 * HOUR)).toMatch(/^Oct 2\d, 2026$/);
});

it("writes days of UTC", () => {
  expect(formatDay("2026-11-22")).toBe("Nov 22, 2026");
  expect(formatShortDay("2026-11-22")).toBe("Nov 22");
});
