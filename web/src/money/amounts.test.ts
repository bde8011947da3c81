import { expect, it } from "vitest";
import { formatAmount, roundedAmount } from "./amounts";
import {
  compareDecimals,
  isDecimal,
  percentOf,
  scaleWhole,
  subtractDecimals,
  sumDecimals,
} from "./decimal";

it("shows amounts to the last digit, with their unit", () => {
  expect(formatAmount("0", "usd")).toBe("$0.00");
  expect(formatAmount("1234567.5", "usd")).toBe("$1,234,567.50");
  expect(formatAmount("-0.000000001", "usd")).toBe("−$0.000000001");
  expect(formatAmount("9000000000.123456789", "usd")).toBe("$9,000,000,000.123456789");
  expect(formatAmount("1200", "tokens")).toBe("1,200 tokens");
  expect(formatAmount("1", "tool_calls")).toBe("1 tool call");
  expect(formatAmount("0.5", "credits")).toBe("0.5 credits");
  expect(formatAmount("12", "pages")).toBe("12 pages");
});

it("reckons without rounding", () => {
  expect(subtractDecimals("1", "0.000000001")).toBe("0.999999999");
  expect(subtractDecimals("0.5", "2")).toBe("-1.5");
  expect(compareDecimals("1.0", "1")).toBe(0);
  expect(compareDecimals("-2", "1")).toBeLessThan(0);
  expect(compareDecimals("9007199254740993", "9007199254740992")).toBeGreaterThan(0);
  expect(sumDecimals([])).toBe("0");
  expect(sumDecimals(["0.1", "0.2", "-0.3"])).toBe("0");
});

it("gives shares for bars, within their ends", () => {
  expect(percentOf("1", "3")).toBe(33.33);
  expect(percentOf("5", "3")).toBe(100);
  expect(percentOf("-1", "3")).toBe(0);
  expect(percentOf("0", "0")).toBe(100);
  expect(scaleWhole(1000, "1", "3")).toBe(333);
});

it("knows what the API takes as a decimal", () => {
  for (const good of ["0", "-1", " 12.50 "]) expect(isDecimal(good)).toBe(true);
  for (const bad of ["", ".5", "1.", "1e3", "1,5", "NaN"]) expect(isDecimal(bad)).toBe(false);
});

it("rounds for the eye, and never something to nothing", () => {
  const rounded = (decimal: string) => formatAmount(roundedAmount(decimal, "usd"), "usd");
  expect(rounded("0.9576453")).toBe("$0.96");
  expect(rounded("0.0018742")).toBe("$0.0019");
  expect(rounded("0.05")).toBe("$0.05");
  expect(rounded("0.0999")).toBe("$0.10");
  expect(rounded("-0.000000001")).toBe("−$0.000000001");
  expect(rounded("1234.567")).toBe("$1,234.57");
  expect(rounded("0")).toBe("$0.00");
  expect(roundedAmount("12345.67891", "pages")).toBe("12345.679");
});
