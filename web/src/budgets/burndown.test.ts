import fc from "fast-check";
import { expect, it } from "vitest";
import { addDecimals, subtractDecimals } from "@/money/decimal";
import { knownSince, levelsOf } from "./burndown";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const posting = (minute: number, amount: string) => ({
  amount,
  createdAt: at(minute).toISOString(),
});

it("walks back from what is left", () => {
  const postings = [posting(9, "0.5"), posting(5, "-10"), posting(2, "3")];
  expect(levelsOf("16.5", postings, at(0))).toEqual([
    { at: at(0).getTime(), balance: "10" },
    { at: at(2).getTime(), balance: "7" },
    { at: at(5).getTime(), balance: "17" },
    { at: at(9).getTime(), balance: "16.5" },
  ]);
});

it("knows nothing of earlier periods", () => {
  const postings = [posting(9, "1"), posting(2, "3")];
  expect(levelsOf("9", postings, at(5))).toEqual([
    { at: at(5).getTime(), balance: "10" },
    { at: at(9).getTime(), balance: "9" },
  ]);
  expect(levelsOf("9", [], at(5))).toEqual([]);
});

it("takes postings of one moment together", () => {
  expect(levelsOf("7", [posting(3, "1"), posting(3, "2")], at(0))).toEqual([
    { at: at(0).getTime(), balance: "10" },
    { at: at(3).getTime(), balance: "7" },
  ]);
});

it("begins at the oldest posting that is here, unless that is all", () => {
  const postings = [posting(9, "1"), posting(4, "1")];
  expect(knownSince(postings, at(0), false)).toEqual(at(4));
  expect(knownSince(postings, at(6), false)).toEqual(at(6));
  expect(knownSince(postings, at(0), true)).toEqual(at(0));
  expect(knownSince([], at(0), false)).toEqual(at(0));
});

it("agrees with spending in the order of time", () => {
  const cents = fc.integer({ min: -10_000, max: 10_000 }).map((n) => {
    const digits = String(Math.abs(n)).padStart(3, "0");
    return `${n < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
  });
  fc.assert(
    fc.property(fc.array(cents, { minLength: 1, maxLength: 30 }), (amounts) => {
      let balance = "100";
      const after = amounts.map((amount) => {
        balance = subtractDecimals(balance, amount);
        return balance;
      });
      const newestFirst = amounts.map((amount, index) => posting(index + 1, amount)).reverse();
      const levels = levelsOf(balance, newestFirst, at(0)).map((each) => each.balance);
      expect(levels).toEqual(["100", ...after].map((each) => addDecimals(each, "0")));
    }),
  );
});
