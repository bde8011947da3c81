import { expect, it } from "vitest";
import { count, flag, oneOf, searchOf, text, trimmed } from "./search";

const read = searchOf({ q: text, name: trimmed, open: flag, page: count, by: oneOf(["DAY"]) });

it("reads what the router has made numbers of, and truths in either form", () => {
  expect(read({ q: 42, name: " a ", open: "true", page: "7", by: "DAY" })).toEqual({
    q: "42",
    name: "a",
    open: true,
    page: 7,
    by: "DAY",
  });
  expect(read({ open: true })).toEqual({ open: true });
});

it("leaves out what is empty, makes no sense or is unknown", () => {
  expect(read({ q: "", name: " ", open: "no", page: -1, by: "YEAR", other: 1 })).toEqual({});
  expect(read({ q: null, page: 1.5 })).toEqual({});
});
