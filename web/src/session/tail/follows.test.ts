import { expect, it } from "vitest";
import { followsAfter } from "./follows";

const quiet = { following: true, distance: 900, movedUp: true, sinceTouch: 1e6, sinceResize: 1e6 };

it("is left by the reader, by whatever means they move up", () => {
  expect(followsAfter({ ...quiet, sinceTouch: 20, sinceResize: 10 })).toBe(false);
  expect(followsAfter(quiet)).toBe(false);
  expect(followsAfter({ ...quiet, distance: 30, sinceTouch: 20 })).toBe(false);
});

it("is kept when content that got shorter and longer again has moved the list", () => {
  expect(followsAfter({ ...quiet, sinceResize: 10 })).toBe(true);
  expect(followsAfter({ ...quiet, movedUp: false, sinceTouch: 20 })).toBe(true);
});

it("goes on near the end, and not before", () => {
  const away = { ...quiet, following: false, movedUp: false };
  expect(followsAfter({ ...away, distance: 40 })).toBe(true);
  expect(followsAfter({ ...away, distance: 400, sinceResize: 10 })).toBe(false);
});
