import { describe, expect, it } from "vitest";
import type { ApiKeyRowFragment, Permission } from "@/gql/graphql";
import {
  createKeyInput,
  expiryOf,
  grantableGroups,
  impliedBy,
  keyProblem,
  keyState,
  newKeyDraft,
} from "./keyDraft";

const NOW = new Date("2026-11-22T12:00:00.000Z").getTime();
const ADMIN: Permission[] = ["ORG_READ", "SESSIONS_READ", "SESSIONS_WRITE", "API_KEYS_MANAGE"];

describe("grantableGroups", () => {
  it("offers what the creator holds, and nothing else", () => {
    expect(grantableGroups(ADMIN).flatMap(({ permissions }) => permissions)).toEqual([
      "SESSIONS_READ",
      "SESSIONS_WRITE",
      "ORG_READ",
      "API_KEYS_MANAGE",
    ]);
  });

  it("never offers what is for operators", () => {
    const all = grantableGroups([...ADMIN, "PLATFORM_READ", "PLATFORM_MANAGE"]);
    expect(all).toEqual(grantableGroups(ADMIN));
  });
});

it("knows what comes with reading sessions", () => {
  expect(impliedBy(["SESSIONS_READ"])).toEqual(["CATALOG_READ"]);
  expect(impliedBy(["SESSIONS_WRITE"])).toEqual([]);
});

it("begins with what the creator may give", () => {
  expect(newKeyDraft(["SESSIONS_READ"]).permissions).toEqual(["SESSIONS_READ"]);
});

describe("a draft", () => {
  const draft = { ...newKeyDraft(ADMIN), name: " CI " };

  it("becomes an input with a time", () => {
    expect(createKeyInput(draft, NOW)).toEqual({
      name: "CI",
      permissions: ["ORG_READ", "SESSIONS_READ", "SESSIONS_WRITE"],
      expiresAt: "2027-02-20T12:00:00.000Z",
    });
    expect(expiryOf({ ...draft, lifetime: "never" }, NOW)).toBeNull();
  });

  it("is good through the day that was chosen, where the viewer is", () => {
    const expiry = new Date(
      expiryOf({ ...draft, lifetime: "date", date: "2026-12-31" }, NOW) ?? "",
    );
    expect([expiry.getDate(), expiry.getHours(), expiry.getMinutes()]).toEqual([31, 23, 59]);
  });

  it("must say what it may do, and until when", () => {
    expect(keyProblem(draft)).toBeNull();
    expect(keyProblem({ ...draft, permissions: [] })).toContain("permission");
    expect(keyProblem({ ...draft, lifetime: "date", date: "" })).toContain("expiry date");
  });
});

it("tells how a key stands", () => {
  const key: ApiKeyRowFragment = {
    id: "key_1",
    name: "CI",
    prefix: "ost_12345678",
    permissions: [],
    createdAt: "2026-11-01T00:00:00.000Z",
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  };
  expect(keyState(key, NOW)).toBe("active");
  expect(keyState({ ...key, expiresAt: "2026-11-22T12:00:00.000Z" }, NOW)).toBe("expired");
  expect(keyState({ ...key, expiresAt: "2026-11-22T12:00:01.000Z" }, NOW)).toBe("active");
  expect(keyState({ ...key, revokedAt: "2026-11-02T00:00:00.000Z" }, NOW)).toBe("revoked");
});
