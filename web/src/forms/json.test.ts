import { expect, it } from "vitest";
import { readSettings } from "./json";

it("reads an empty text as empty settings", () => {
  expect(readSettings(" \n")).toEqual({ value: {} });
});

it.each([
  ['{\n  "a": 1\n  "b": 2\n}', "Line 3: a comma is expected."],
  ['{\n  "a": nope\n}', "Line 2: a value is not JSON; put text in double quotes."],
  ['{"a": 1,\n}', "Line 2: "],
  ['{\n  "a": [1\n', "Line 3: "],
  ["[]", "Settings are an object, such as {}."],
])("says where %j is not settings", (text, problem) => {
  const read = readSettings(text);
  expect("problem" in read && read.problem).toContain(problem);
});
