import { expect, it } from "vitest";
import { fileProblem, pathFor, textIn, withFiles } from "./textFiles";

it("says before sending what is too large, or holds nothing", () => {
  expect(fileProblem({ name: "a.csv", size: 500_000 })).toBeNull();
  expect(fileProblem({ name: "a.csv", size: 500_001 })).toContain("500 KB");
  expect(fileProblem({ name: "a.csv", size: 0 })).toBe("a.csv is empty.");
});

it("takes what is text, whatever its name", async () => {
  expect(await textIn(new Blob(["Grüße 🦉\n"]))).toBe("Grüße 🦉\n");
  expect(await textIn(new Blob([new Uint8Array([0xff, 0xd8, 0xff])]))).toBeNull();
  expect(await textIn(new Blob(["a\0b"]))).toBeNull();
});

it("puts files where they replace nothing, under names that paths can hold", () => {
  expect(pathFor("0123456789abcdef", "notes.txt")).toBe("/workspace/uploads/01234567/notes.txt");
  expect(pathFor("0123456789abcdef", "../a\\b\n.txt")).toBe(
    "/workspace/uploads/01234567/.._a_b_.txt",
  );
  for (const name of ["..", ".", ""]) expect(pathFor("01234567", name)).toMatch(/\/file$/);
});

it("names the files below the text", () => {
  const files = [{ path: "/workspace/uploads/1/a.txt" }, { path: "/workspace/uploads/2/b.txt" }];
  expect(withFiles("Compare these", files)).toBe(
    "Compare these\n\nAttached file: /workspace/uploads/1/a.txt\nAttached file: /workspace/uploads/2/b.txt",
  );
  expect(withFiles("", files.slice(1))).toBe("Attached file: /workspace/uploads/2/b.txt");
  expect(withFiles("Hello", [])).toBe("Hello");
});
