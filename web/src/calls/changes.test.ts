import { expect, it } from "vitest";
import { argumentChanges } from "./changes";

it("tells the fields that differ, line by line", () => {
  expect(
    argumentChanges({ path: "a", content: "x\ny", n: 1 }, { n: 1, content: "x\nz", path: "a" }),
  ).toEqual([
    {
      name: "content",
      lines: [
        { kind: "same", text: "x" },
        { kind: "removed", text: "y" },
        { kind: "added", text: "z" },
      ],
    },
  ]);
});

it("tells a text from a number, and fields that came or went", () => {
  const changes = argumentChanges({ n: 1, gone: "x" }, { n: "1", come: true });
  expect(changes).toEqual([
    {
      name: "n",
      lines: [
        { kind: "removed", text: "1" },
        { kind: "added", text: '"1"' },
      ],
    },
    { name: "gone", lines: [{ kind: "removed", text: "x" }] },
    { name: "come", lines: [{ kind: "added", text: "true" }] },
  ]);
});
