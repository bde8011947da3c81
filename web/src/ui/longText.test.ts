import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beginningOf } from "./longText";

describe("beginningOf", () => {
  it("keeps what is not long", () => {
    expect(beginningOf("")).toBe("");
    expect(beginningOf("a\n".repeat(30))).toBe("a\n".repeat(30));
    expect(beginningOf("a".repeat(2500))).toBe("a".repeat(2500));
  });

  it("cuts after so many lines or characters", () => {
    expect(beginningOf("a\n".repeat(60))).toBe(`${"a\n".repeat(29)}a…`);
    expect(beginningOf("a".repeat(9000))).toBe(`${"a".repeat(2000)}…`);
  });

  it("is the beginning of any text, and never parts a character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "\n", "é", "😀"), minLength: 1, maxLength: 5 }),
        fc.integer({ min: 0, max: 1500 }),
        (piece, times) => {
          const text = piece.repeat(times);
          const shown = beginningOf(text);
          if (shown === text) return;
          const beginning = shown.slice(0, -1);
          expect(shown.endsWith("…") && text.startsWith(beginning)).toBe(true);
          expect(beginning.isWellFormed()).toBe(true);
          expect(beginning.length).toBeLessThan(text.length);
        },
      ),
    );
  });
});
