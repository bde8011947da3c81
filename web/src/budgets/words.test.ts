import { expect, it } from "vitest";
import { usedPercent } from "./BudgetBar";
import { checkStanding, shortfall, standing } from "./words";

const stuck = { status: "EXHAUSTED", balance: "0.001" } as const;
const spent = { status: "EXHAUSTED", balance: "0" } as const;

it("tells a budget with too little for the next call from one that is used up", () => {
  expect(standing(stuck)).toEqual({ label: "Too little left", tone: "warn" });
  expect(standing(spent)).toEqual({ label: "Used up", tone: "bad" });
  const label = (...budgets: (typeof stuck | typeof spent)[]) =>
    checkStanding({ status: "EXHAUSTED", budgets: budgets.map((budget) => ({ budget })) }).label;
  expect(label(stuck)).toBe("Too little left");
  expect(label(stuck, spent)).toBe("Used up");
});

it("means by percent what the bar shows", () => {
  expect(usedPercent({ spent: "0", limit: "0.001", credits: "0" })).toBe(0);
  expect(usedPercent({ spent: "47", limit: "50", credits: "50" })).toBe(47);
});

it("suggests the top-up that is missing", () => {
  expect(shortfall(stuck, "0.0019")).toBe("0.0009");
  expect(shortfall({ balance: "-2" })).toBe("2");
  expect(shortfall(stuck)).toBe("");
});
