import { describe, expect, it } from "vitest";
import { readCall, replaced } from "./readCall";

describe("readCall", () => {
  it("reads files that are written or edited, and leaves nothing out", () => {
    expect(
      readCall("write_file", { path: "/workspace/a", content: "x\ny", expected_hash: "ab" }),
    ).toEqual({
      kind: "write",
      path: "/workspace/a",
      content: "x\ny",
      rest: [["expected_hash", "ab"]],
    });
    expect(
      readCall("edit_file", { path: "/workspace/a", replacements: [{ old: "x", new: "" }] }),
    ).toEqual({
      kind: "edit",
      path: "/workspace/a",
      replacements: [{ old: "x", new: "", all: false }],
      rest: [],
    });
  });

  it("shows fields where the arguments aren't those of the tool that it knows", () => {
    const binary = { path: "a", content: "AA==", encoding: "base64" };
    expect(readCall("write_file", binary)).toEqual({
      kind: "fields",
      fields: Object.entries(binary),
    });
    for (const replacements of [
      undefined,
      "x",
      [1],
      [{ old: "a" }],
      [{ old: "a", new: "b", n: 1 }],
    ]) {
      expect(readCall("edit_file", { path: "a", replacements }).kind).toBe("fields");
    }
    expect(readCall("write_files", { path: "a", content: "b" }).kind).toBe("fields");
    expect(readCall("write_file", [1]).kind).toBe("json");
    expect(readCall(null, null).kind).toBe("json");
  });
});

describe("replaced", () => {
  it("replaces in order, as the tool does", () => {
    const edits = [
      { old: "a", new: "b", all: false },
      { old: "b", new: "$&", all: true },
    ];
    expect(replaced("a b", edits)).toBe("$& $&");
  });

  it("is null where an edit doesn't fit", () => {
    expect(replaced("abc", [{ old: "x", new: "y", all: true }])).toBeNull();
    expect(replaced("aa", [{ old: "a", new: "y", all: false }])).toBeNull();
  });
});
