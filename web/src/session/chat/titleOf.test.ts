import { expect, it } from "vitest";
import { titleOf } from "./titleOf";

it("takes the first line of a message", () => {
  expect(titleOf("  Refund  order 7\nIt came broken.")).toBe("Refund order 7");
  expect(titleOf("")).toBeNull();
  expect(titleOf(" \n ")).toBeNull();
});

it("cuts a long line between words, and one long word anywhere", () => {
  const long = titleOf("Compare the three offers for the new office and tell me which is cheapest");
  expect(long).toBe("Compare the three offers for the new office and tell me…");
  expect(titleOf("x".repeat(80))).toBe(`${"x".repeat(60)}…`);
  // A character of two code units stays whole.
  expect(titleOf("🦉".repeat(80))).toBe(`${"🦉".repeat(60)}…`);
});
