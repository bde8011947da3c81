import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hunksOf, lineDiff } from "@/diff/lineDiff";
import { comparedNumbers, diffSnapshots, fieldLabel } from "./fieldDiff";

const side = (lines: ReturnType<typeof lineDiff>, not: "added" | "removed") =>
  lines.filter(({ kind }) => kind !== not).map(({ text }) => text);

/** Few different lines, so that many are the same and the paths are entangled. */
const text = fc
  .array(fc.constantFrom("a", "b", "c", "", "  d"), { maxLength: 14 })
  .map((lines) => lines.join("\n"));

function longestCommon(left: string[], right: string[]): number {
  const row = new Array<number>(right.length + 1).fill(0);
  for (const each of left) {
    let diagonal = 0;
    right.forEach((other, i) => {
      const above = row[i + 1] ?? 0;
      row[i + 1] = each === other ? diagonal + 1 : Math.max(above, row[i] ?? 0);
      diagonal = above;
    });
  }
  return row[right.length] ?? 0;
}

describe("lineDiff", () => {
  const lines = (joined: string) => (joined === "" ? [] : joined.split("\n"));

  it("holds both texts, and as much as can be in common", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = lineDiff(before, after);
        expect(side(diff, "added")).toEqual(lines(before));
        expect(side(diff, "removed")).toEqual(lines(after));
        const same = diff.filter(({ kind }) => kind === "same").length;
        expect(same).toBe(longestCommon(lines(before), lines(after)));
      }),
      { numRuns: 2000 },
    );
  });

  it("gives up on texts that have nothing in common, and still holds both", () => {
    const many = (word: string) => Array.from({ length: 3000 }, (_, i) => word + i).join("\n");
    const diff = lineDiff(many("x"), many("y"));
    expect(diff).toHaveLength(6000);
    expect(side(diff, "removed").join("\n")).toBe(many("y"));
  });
});

describe("hunksOf", () => {
  it("keeps three lines around each change and counts the rest", () => {
    const before = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const after = before.with(10, "changed");
    const hunks = hunksOf(lineDiff(before.join("\n"), after.join("\n")));
    expect(hunks.map((hunk) => (hunk.kind === "lines" ? hunk.lines.length : -hunk.count))).toEqual([
      -7, 8, -6,
    ]);
  });
});

describe("diffSnapshots", () => {
  const base = {
    displayName: "Writer",
    systemPrompt: "One\nTwo",
    capabilities: [{ id: "files" }],
    defaultModelId: null,
    maxIterations: 5,
    tags: [],
  };

  it("names the fields that differ, and no others", () => {
    const next = { ...base, displayName: "Author", systemPrompt: "One\n2", maxIterations: 5 };
    expect(diffSnapshots(base, next)).toEqual([
      { field: "displayName", kind: "value", before: "Writer", after: "Author" },
      {
        field: "systemPrompt",
        kind: "lines",
        lines: [
          { kind: "same", text: "One" },
          { kind: "removed", text: "Two" },
          { kind: "added", text: "2" },
        ],
      },
    ]);
  });

  it("sees no change in the order of keys, or between null, empty and absent", () => {
    const { defaultModelId: _, ...without } = base;
    expect(diffSnapshots(base, without)).toEqual([]);
    expect(
      diffSnapshots(
        { capabilities: [{ id: "a", config: { x: 1, y: [{ p: 1, q: 2 }] } }] },
        { capabilities: [{ id: "a", config: { y: [{ q: 2, p: 1 }], x: 1 } }] },
      ),
    ).toEqual([]);
    expect(diffSnapshots({ description: null }, { description: "" })).toEqual([]);
  });

  it("shows a change of settings and of order", () => {
    const two = [{ id: "files" }, { id: "todos", config: null }];
    expect(diffSnapshots({ capabilities: two }, { capabilities: two.toReversed() })).toHaveLength(
      1,
    );
    expect(
      diffSnapshots({ capabilities: [{ id: "a" }] }, { capabilities: [{ id: "a", config: {} }] }),
    ).toHaveLength(1);
  });

  it("puts names for ids where it knows them", () => {
    const names = new Map([["model_2", "Claude X"]]);
    expect(diffSnapshots(base, { ...base, defaultModelId: "model_2" }, names)).toEqual([
      { field: "defaultModelId", kind: "value", before: "", after: "Claude X" },
    ]);
  });

  it("does not break on a snapshot that is no object", () => {
    expect(diffSnapshots(null, ["x"])).toEqual([]);
  });
});

it("says fields as a person would", () => {
  expect(fieldLabel("defaultModelId")).toBe("Default model");
  expect(fieldLabel("fallbackModelIds")).toBe("Fallback models");
  expect(fieldLabel("tags")).toBe("Tags");
});

it("compares the newest revision with the one before it unless asked otherwise", () => {
  expect(comparedNumbers({}, 7)).toEqual({ from: 6, to: 7 });
  expect(comparedNumbers({}, 1)).toEqual({ from: 1, to: 1 });
  expect(comparedNumbers({ to: 3 }, 7)).toEqual({ from: 2, to: 3 });
  expect(comparedNumbers({ from: 1, to: 5 }, 7)).toEqual({ from: 1, to: 5 });
});
