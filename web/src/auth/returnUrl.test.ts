import { expect, it } from "vitest";
import { safeReturnUrl } from "./returnUrl";

it.each(["/sessions", "/sessions/sess_1?view=events", "/agents?q=a"])("goes back to %s", (path) => {
  expect(safeReturnUrl(path)).toBe(path);
});

it.each([
  undefined,
  5,
  "",
  "https://evil.example",
  "//evil.example",
  "/\\evil.example",
  "javascript:1",
  "/sign-in?next=/",
])("does not follow %s", (path) => {
  expect(safeReturnUrl(path)).toBe("/");
});
