import { expect, it } from "vitest";
import { plainText } from "./plainText";

it.each([
  ["**Paris** is the *capital*.", "Paris is the capital."],
  ["## Plan ### Step `go test`", "Plan Step go test"],
  ["See [the docs](https://example.com/a) and ![a chart](c.png)", "See the docs and a chart"],
  ["Cut [the docs](https://exam", "Cut the docs"],
  ["Cut **in the mid", "Cut in the mid"],
  [" found ", " found "],
  // No marks of Markdown.
  ["2 * 3 * 4, 2**3, issue #12, __init__", "2 * 3 * 4, 2**3, issue #12, __init__"],
])("writes %s as %s", (markdown, text) => expect(plainText(markdown)).toBe(text));
