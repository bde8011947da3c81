import { expect, it } from "vitest";
import { readJson, readObject } from "./json";

it("reads an empty text as the empty object", () => {
  expect(readObject(" \n")).toEqual({ value: {} });
});

it.each([
  ['{\n  "a": 1\n  "b": 2\n}', "Line 3: a comma is expected."],
  ['{\n  "a": nope\n}', "Line 2: a value is not JSON; put text in double quotes."],
  ['{"a": 1,\n}', "Line 2: "],
  ['{\n  "a": [1\n', "Line 3: "],
  ["[]", "An object is expected, such as {}."],
])("says where %j is not an object", (text, problem) => {
  const read = readObject(text);
  expect("problem" in read && read.problem).toContain(problem);
});

it("reads any value, but not nothing", () => {
  expect(readJson("[1]")).toEqual({ value: [1] });
  expect(readJson(" ")).toEqual({ problem: "Line 1: a value is expected." });
});
