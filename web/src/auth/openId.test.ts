import { expect, it } from "vitest";
import { openIdRefusal, openIdStart } from "./openId";

it("begins at the server, and returns to a page of this site only", () => {
  expect(openIdStart("/agents?a=b&c=d")).toBe(
    "/auth/oidc/start?returnTo=%2Fagents%3Fa%3Db%26c%3Dd",
  );
  expect(openIdStart("//evil.example")).toBe("/auth/oidc/start?returnTo=%2F");
  expect(openIdStart(undefined, "a&b")).toBe("/auth/oidc/start?returnTo=%2F&invitation=a%26b");
});

it("says nothing when nothing was refused", () => {
  expect(openIdRefusal(undefined, "Example")).toBeNull();
  expect(openIdRefusal("", "Example")).toBeNull();
});

it.each([
  "oidc_unavailable",
  "oidc_state",
  "oidc_declined",
  "oidc_failed",
  "oidc_email",
  "oidc_domain",
  "oidc_not_invited",
  "oidc_invitation",
  "oidc_confirm",
  "oidc_other_identity",
  "oidc_throttled",
])("has words of its own for %s", (code) => {
  const text = openIdRefusal(code, "Example");
  expect(text).toBeTruthy();
  expect(text).not.toBe(openIdRefusal("oidc_error", "Example"));
});

it.each(["oidc_error", "<b>hello</b>", "constructor", "__proto__"])(
  "never repeats what the address says: %s",
  (code) => {
    expect(openIdRefusal(code, "Example")).toBe("Signing in with Example failed. Try again.");
  },
);
