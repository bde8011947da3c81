import { expect, it } from "vitest";
import { signInUrl } from "./goToSignIn";
import { sameIdentity } from "./identity";
import { isAtLeast, rolesUpTo } from "./roles";
import { deadReason } from "./useAcceptance";

it("tells persons and organizations apart", () => {
  const ada = { user: { id: "user_1" }, org: { id: "org_1" } };
  expect(sameIdentity(ada, { user: { id: "user_1" }, org: { id: "org_1" } })).toBe(true);
  expect(sameIdentity(ada, { ...ada, org: { id: "org_2" } })).toBe(false);
  expect(sameIdentity(ada, { ...ada, user: { id: "user_2" } })).toBe(false);
  expect(sameIdentity(ada, { ...ada, user: null })).toBe(false);
});

it("offers no role above one's own", () => {
  expect(rolesUpTo("OWNER")).toEqual(["OWNER", "ADMIN", "MEMBER", "VIEWER"]);
  expect(rolesUpTo("MEMBER")).toEqual(["MEMBER", "VIEWER"]);
  expect(rolesUpTo(null)).toEqual([]);
  expect(isAtLeast("ADMIN", "ADMIN")).toBe(true);
  expect(isAtLeast("ADMIN", "OWNER")).toBe(false);
});

it("keeps the way back, and says when a sign-in was lost", () => {
  expect(signInUrl("/", false)).toBe("/sign-in");
  expect(signInUrl("/agents?q=a", false)).toBe("/sign-in?next=%2Fagents%3Fq%3Da");
  expect(signInUrl("/", true)).toBe("/sign-in?ended=true");
});

it("knows an invitation that nobody can accept", () => {
  const refusal = (code: "EXPIRED" | "INVALID_CREDENTIALS" | "FORBIDDEN", path: string[]) => ({
    code,
    message: code,
    path,
    retryAfterSeconds: null,
  });
  expect(deadReason([refusal("EXPIRED", ["input", "token"])])).toBe("EXPIRED");
  expect(deadReason([refusal("INVALID_CREDENTIALS", ["input", "token"])])).toBe(
    "INVALID_CREDENTIALS",
  );
  // A wrong password, or another person: somebody else may accept it.
  expect(deadReason([refusal("INVALID_CREDENTIALS", [])])).toBeNull();
  expect(deadReason([refusal("FORBIDDEN", ["input", "token"])])).toBeNull();
});
