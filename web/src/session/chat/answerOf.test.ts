import { expect, it } from "vitest";
import { answerOf } from "./answerOf";

it("is what a person said, and nothing where nobody did", () => {
  expect(answerOf({ toolName: "ask_user", result: { answer: "Red" } })).toBe("Red");
  expect(answerOf({ toolName: "ask_user", result: null })).toBeNull();
  expect(answerOf({ toolName: "read_file", result: { answer: "Red" } })).toBeNull();
});
