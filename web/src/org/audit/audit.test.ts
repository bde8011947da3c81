import { describe, expect, it } from "vitest";
import { formatDateTime } from "@/ui/format";
import { actionWords, detailsOf, detailText, outcomeOf } from "./details";
import { auditFilter, auditSearch, fromLocalField, toLocalField } from "./search";

describe("the address of the audit log", () => {
  it("is read with what it can use, and without the rest", () => {
    expect(
      auditSearch({ action: " signin.failed ", target: 42, from: "yesterday", to: "", page: "2" }),
    ).toEqual({ action: "signin.failed", target: "42" });
  });

  it("becomes a filter of the API", () => {
    expect(auditFilter({})).toBeNull();
    expect(
      auditFilter({ actor: "user_1", target: "org_1", from: "2026-11-22T10:00:00.000Z" }),
    ).toEqual({ actorId: "user_1", targetId: "org_1", from: "2026-11-22T10:00:00.000Z" });
  });

  it("holds times of the viewer's zone as instants", () => {
    const instant = fromLocalField("2026-11-22T10:30");
    expect(instant).toBe(new Date(2026, 10, 22, 10, 30).toISOString());
    expect(toLocalField(instant)).toBe("2026-11-22T10:30");
    expect(toLocalField(undefined)).toBe("");
    expect(fromLocalField("")).toBeUndefined();
  });
});

describe("detailsOf", () => {
  it("reads changes of fields", () => {
    expect(detailsOf({ name: { before: "a", after: "b" } })).toEqual([
      { name: "name", before: "a", after: "b" },
    ]);
  });

  it("reads the change of one value, beside what else is told", () => {
    expect(detailsOf({ userId: "user_1", before: "MEMBER", after: "VIEWER" })).toEqual([
      { name: "value", before: "MEMBER", after: "VIEWER" },
      { name: "userId", value: "user_1" },
    ]);
  });

  it("reads what was made and what was removed", () => {
    expect(detailsOf({ after: { name: "CI" } })).toEqual([
      { name: "name", before: undefined, after: "CI" },
    ]);
    expect(detailsOf({ before: { name: "CI" } })).toEqual([
      { name: "name", before: "CI", after: undefined },
    ]);
  });

  it("takes what is no change as it is", () => {
    expect(detailsOf({ fields: ["name"], revision: 2 })).toEqual([
      { name: "fields", value: ["name"] },
      { name: "revision", value: 2 },
    ]);
    expect(detailsOf({})).toEqual([]);
    expect(detailsOf(null)).toEqual([]);
  });
});

it("puts values into words", () => {
  const time = "2026-11-22T10:30:00.000Z";
  expect(detailText("expiresAt", Date.parse(time))).toBe(formatDateTime(time));
  expect(detailText("expiresAt", time)).toBe(formatDateTime(time));
  expect(detailText("expiresAt", "soon")).toBe("soon");
  expect(detailText("revision", 2)).toBe("2");
  expect(detailText("list", ["a", "b"])).toBe("a, b");
  expect(detailText("list", [])).toBe("–");
  expect(detailText("text", null)).toBe("–");
  expect(detailText("flag", false)).toBe("false");
  expect(detailText("thing", { a: 1 })).toBe('{"a":1}');
});

it("puts actions into words", () => {
  expect(actionWords("member.role_changed")).toBe("Member role changed");
  expect(actionWords("apiKey.created")).toBe("API key created");
  expect(actionWords("signin.token_reused")).toBe("Sign-in token reused");
});

describe("outcomeOf", () => {
  it.each([
    [{ userId: "user_1", before: "MEMBER", after: "ADMIN" }, "MEMBER → ADMIN"],
    [{ name: { before: "Old", after: "New" } }, "name: Old → New"],
    [{ before: { limit: "1", soft: "2" }, after: { limit: "3", soft: "2" } }, "limit: 1 → 3"],
    [{ before: { limit: "1", soft: "2" }, after: { limit: "3", soft: "4" } }, "limit, soft"],
    [{ name: { before: "x".repeat(40), after: "y".repeat(40) } }, "name"],
    [{ fields: ["systemPrompt", "maxIterations"], revision: 2 }, "systemPrompt, maxIterations"],
    [{ amount: "2.5", currency: "usd", before: "1", after: "3.5" }, "$2.50"],
    [{ after: { name: "CI" } }, null],
    [{ email: "a@example.com" }, null],
    [null, null],
  ])("says of %j: %s", (details, words) => {
    expect(outcomeOf(details)).toBe(words);
  });
});
