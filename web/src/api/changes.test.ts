import { expect, it } from "vitest";
import { changesOf, toggled } from "./changes";

it("holds only the fields that differ", () => {
  const stored = { name: "a", hosts: ["x", "y"], price: { input: "1" }, id: 7 };
  const same = { name: "a", hosts: ["y", "x"], price: { input: "1" } };
  expect(changesOf(same, stored)).toBeNull();
  expect(changesOf({ ...same, name: "b", hosts: ["x"] }, stored)).toEqual({
    name: "b",
    hosts: ["x"],
  });
  expect(changesOf({ ...same, price: null }, stored)).toEqual({ price: null });
});

it("toggles a name", () => {
  expect(toggled(["a"], "b")).toEqual(["a", "b"]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
});
