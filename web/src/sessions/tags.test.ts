import { expect, it } from "vitest";
import { tagsOf } from "./tags";

it("reads a tag from each line, each once", () => {
  expect(tagsOf(" billing\nurgent \n\nbilling\ntwo words, and more")).toEqual([
    "billing",
    "urgent",
    "two words, and more",
  ]);
  expect(tagsOf(" \n ")).toEqual([]);
});
