import { expect, it } from "vitest";
import { priceRows } from "./priceHistory";

const FIRST = "2026-01-01T00:00:00.000Z";
const SECOND = "2026-02-01T00:00:00.000Z";
const THIRD = "2026-03-01T00:00:00.000Z";

it("tells from when until when a price was in force, to the last digit", () => {
  const rows = priceRows([
    {
      validFrom: THIRD,
      price: { input: "0.000000001", output: "15", cacheRead: "0.3", cacheWrite: null },
    },
    { validFrom: SECOND, price: null },
    { validFrom: FIRST, price: { input: "0", output: "0", cacheRead: null, cacheWrite: null } },
  ]);
  expect(rows).toEqual([
    { from: THIRD, until: null, prices: ["$0.000000001", "$15.00", "$0.30", null] },
    { from: SECOND, until: THIRD, prices: null },
    // Free is known, and something else than not known.
    { from: FIRST, until: SECOND, prices: ["$0.00", "$0.00", null, null] },
  ]);
  expect(priceRows([])).toEqual([]);
});
