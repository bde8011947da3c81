import fc from "fast-check";
import { expect, it } from "vitest";
import { addDecimals } from "./decimal";

it("adds without rounding", () => {
  expect(addDecimals("0.1", "0.2")).toBe("0.3");
  expect(addDecimals("0", "12.50")).toBe("12.5");
  expect(addDecimals("0.999999999999999999", "0.000000000000000001")).toBe("1");
  expect(addDecimals("-0.5", "0.2")).toBe("-0.3");
});

it("agrees with whole numbers of the smallest unit", () => {
  const micros = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const asDecimal = (units: bigint) => {
    const digits = units.toString().padStart(7, "0");
    return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
  };
  fc.assert(
    fc.property(micros, micros, (a, b) => {
      expect(addDecimals(asDecimal(a), asDecimal(b))).toBe(addDecimals(asDecimal(a + b), "0"));
    }),
  );
});

it("refuses what is not a decimal", () => {
  expect(() => addDecimals("1e3", "0")).toThrow("not a decimal");
});
