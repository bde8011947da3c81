import fc from "fast-check";
import { expect, it } from "vitest";
import { sumDecimals } from "@/money/decimal";
import { costWords, linesOf, seriesOf, subjectOf, totalOf, type UsageRow } from "./figures";
import { daysOf } from "./range";
import { usageSearch } from "./search";

const NOW = new Date("2026-03-02T23:30:00Z");

function row(more: Partial<UsageRow> & { costUsd?: string | null } = {}): UsageRow {
  const { costUsd = "0", ...fields } = more;
  return {
    day: null,
    model: null,
    agent: null,
    user: null,
    session: null,
    customerKey: null,
    tool: null,
    usage: {
      inputTokens: 10,
      outputTokens: 1,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      costUsd,
    },
    turns: 1,
    modelCalls: 2,
    toolCalls: 3,
    ...fields,
  };
}

const model = (name: string) => ({ id: `model_${name}`, displayName: name });

it("takes whole days of UTC, the present one with them", () => {
  expect(daysOf({ range: "today" }, NOW)).toEqual({
    from: "2026-03-02T00:00:00.000Z",
    to: "2026-03-03T00:00:00.000Z",
    days: ["2026-03-02"],
  });
  expect(daysOf({ range: "7d" }, NOW)).toMatchObject({ from: "2026-02-24T00:00:00.000Z" });
  expect(daysOf({}, NOW)).toMatchObject({ from: "2026-02-01T00:00:00.000Z" });
});

it("takes both ends of a custom range, and says what is wrong with one", () => {
  const custom = (from?: string, to?: string) =>
    daysOf({ range: "custom", ...(from && { from }), ...(to && { to }) }, NOW);
  expect(custom("2026-02-27", "2026-03-01")).toMatchObject({
    to: "2026-03-02T00:00:00.000Z",
    days: ["2026-02-27", "2026-02-28", "2026-03-01"],
  });
  expect(custom("2026-03-02", "2026-03-01")).toMatch(/before the start/);
  expect(custom("2026-03-02")).toMatch(/start and an end/);
  expect(custom("2025-01-01", "2026-02-04")).toMatchObject({ to: "2026-02-05T00:00:00.000Z" });
  expect(custom("2025-01-01", "2026-02-05")).toMatch(/at most 400/);
});

it("reads the address, and nothing that makes no sense", () => {
  const search = { range: "custom", from: "2026-02-01", to: "2026-02-30", by: "TOOL" };
  expect(usageSearch(search)).toEqual({ range: "custom", from: "2026-02-01", by: "TOOL" });
  expect(usageSearch({ range: "1y", by: "DAY", stack: "MODEL", from: "2026-02-01" })).toEqual({});
});

it("adds up to the last digit, and says when a price is missing", () => {
  const total = totalOf([row({ costUsd: "0.1" }), row({ costUsd: "0.2" }), row({ costUsd: null })]);
  expect(total).toMatchObject({ costUsd: "0.3", unpriced: true, inputTokens: 30, toolCalls: 9 });
  expect(totalOf([])).toMatchObject({ costUsd: "0", unpriced: false });
  expect(costWords(total)).toBe("at least $0.30");
  expect(costWords(totalOf([row({ costUsd: null })]))).toBe("no price");
  expect(costWords(totalOf([row({ costUsd: "0.1" })]))).toBe("$0.10");
});

it("puts the dearest first, and what is gone together", () => {
  const lines = linesOf(
    [
      row({ model: model("b"), costUsd: "1" }),
      row({ costUsd: "0.5" }),
      row({ model: model("a"), costUsd: "10" }),
      row({ costUsd: "0.25" }),
    ],
    "MODEL",
  );
  expect(lines.map(({ name, totals }) => [name, totals.costUsd])).toEqual([
    ["a", "10"],
    ["b", "1"],
    ["Tool calls", "0.75"],
  ]);
  expect(subjectOf(row(), "TOOL").name).toBe("Model calls");
  expect(subjectOf(row({ session: { id: "sess_1", title: null } }), "SESSION").name).toBe(
    "Untitled session",
  );
});

it("stacks days, and puts what is too much for the eye together", () => {
  const days = ["2026-03-01", "2026-03-02"];
  const rows = Array.from({ length: 9 }, (_, index) =>
    row({ day: days[index % 2] ?? null, model: model(`m${index}`), costUsd: `${index + 1}` }),
  );
  const series = seriesOf(rows, "MODEL", days, "cost");
  expect(series.map(({ name, total }) => [name, total])).toEqual([
    ["m8", "9"],
    ["m7", "8"],
    ["m6", "7"],
    ["m5", "6"],
    ["m4", "5"],
    ["4 others", "10"],
  ]);
  expect(series.at(-1)?.byDay).toEqual(["4", "6"]);
  expect(seriesOf(rows, "MODEL", days, "tokens")).toHaveLength(6);
  expect(seriesOf([row({ day: "2026-03-01" })], "AGENT", days, "cost")).toEqual([]);
});

it("loses nothing on the way from rows to series and lines", () => {
  const cost = fc.integer({ min: 0, max: 10 ** 9 }).map((n) => `0.${String(n).padStart(10, "0")}`);
  const days = ["2026-03-01", "2026-03-02", "2026-03-03"];
  const rows = fc.array(
    fc.record({
      costUsd: cost,
      day: fc.constantFrom(...days),
      of: fc.integer({ max: 12, min: 0 }),
    }),
  );
  fc.assert(
    fc.property(rows, (made) => {
      const all = made.map(({ costUsd, day, of }) => row({ costUsd, day, model: model(`m${of}`) }));
      const total = totalOf(all).costUsd;
      expect(sumDecimals(linesOf(all, "MODEL").map(({ totals }) => totals.costUsd))).toBe(total);
      const series = seriesOf(all, "MODEL", days, "cost");
      expect(sumDecimals(series.map((each) => each.total))).toBe(total);
      expect(sumDecimals(series.flatMap(({ byDay }) => byDay))).toBe(total);
    }),
  );
});
