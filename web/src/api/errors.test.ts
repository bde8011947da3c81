import { expect, it } from "vitest";
import { fieldErrors, otherErrors, type UserError } from "./errors";

const refusal = (path: string[]): UserError => ({
  code: "INVALID",
  message: `about ${path.join(".")}`,
  path,
  retryAfterSeconds: null,
});

it("finds the errors of a field, within an input or beside it", () => {
  const errors = [refusal(["input", "name"]), refusal(["new"]), refusal([])];
  expect(fieldErrors(errors, "name")).toEqual(["about input.name"]);
  expect(fieldErrors(errors, "new")).toEqual(["about new"]);
});

it("leaves the rest for the form as a whole", () => {
  const errors = [refusal(["input", "name"]), refusal(["input", "unknown"]), refusal([])];
  expect(otherErrors(errors, ["name"])).toEqual(errors.slice(1));
});
