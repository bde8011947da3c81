import { describe, expect, it } from "vitest";
import { sameJson } from "@/calls/sameJson";
import type { WaitFieldsFragment } from "@/gql/graphql";
import { tallyOf } from "./decisions";
import { deadlineWords, whyNot } from "./words";

describe("deadlineWords", () => {
  const now = Date.parse("2026-11-22T10:00:00.000Z");
  const inMs = (ms: number) => deadlineWords(new Date(now + ms).toISOString(), now);

  it("says hours and minutes, so that a day that has just begun is not 23 hours", () => {
    expect(inMs(24 * 3_600_000 - 1000)).toBe("23 h 59 min left");
    expect(inMs(24 * 3_600_000)).toBe("1 d left");
    expect(inMs(71.5 * 3_600_000)).toBe("2 d 23 h left");
    expect(inMs(119 * 60_000 + 59_000)).toBe("1 h 59 min left");
    expect(inMs(59 * 60_000)).toBe("59 min left");
    expect(inMs(119_000)).toBe("1 min 59 s left");
    expect(inMs(1)).toBe("1 s left");
  });

  it("says when there is no more", () => {
    expect(inMs(0)).toBe("expired");
    expect(inMs(-5000)).toBe("expired");
  });
});

describe("whyNot", () => {
  const approval = { kind: "APPROVAL" as const, requiredRole: "ADMIN" as const };

  it("names the permission, then the role, then that the turn is one's own", () => {
    expect(whyNot(approval, { role: "VIEWER", permissions: [] })).toContain("may not decide");
    expect(whyNot(approval, { role: "MEMBER", permissions: ["APPROVALS_DECIDE"] })).toContain(
      "the role admin or above",
    );
    expect(whyNot(approval, { role: "ADMIN", permissions: ["APPROVALS_DECIDE"] })).toContain(
      "you wrote in it",
    );
    expect(
      whyNot(
        { kind: "APPROVAL", requiredRole: null },
        { role: "OWNER", permissions: ["APPROVALS_DECIDE"] },
      ),
    ).toContain("you wrote in it");
    const owner = { role: "OWNER" as const, permissions: ["APPROVALS_DECIDE" as const] };
    expect(whyNot(approval, owner, false)).toContain(
      "All other members with the role admin or above",
    );
    expect(whyNot(approval, owner)).not.toMatch(/other members|only member/);
    expect(whyNot(approval, owner, true)).toMatch(/only member.*invite.*deny.*allowSelf/);
    expect(
      whyNot({ kind: "QUESTION", requiredRole: null }, { role: "VIEWER", permissions: [] }),
    ).toContain("not answer");
  });
});

describe("tallyOf", () => {
  const decision = (second: number, own: object): WaitFieldsFragment["decisions"][number] => ({
    approve: true,
    note: null,
    arguments: null,
    createdAt: `2026-11-22T10:00:0${second}.000Z`,
    actor: { kind: "USER", id: `user_${second}`, name: "" },
    ...own,
  });

  it("counts approvals of the same arguments", () => {
    expect(tallyOf([])).toEqual({ approvals: 0, proposed: undefined });
    expect(tallyOf([decision(1, {}), decision(2, {})])).toEqual({
      approvals: 2,
      proposed: undefined,
    });
  });

  it("begins anew with other arguments, whatever the order in which they are read", () => {
    const edited = decision(3, { arguments: { a: 1, b: 2 } });
    const first = decision(1, {});
    expect(tallyOf([edited, first])).toEqual({ approvals: 1, proposed: { a: 1, b: 2 } });
    const again = decision(4, { arguments: { b: 2, a: 1 } });
    expect(tallyOf([first, edited, again]).approvals).toBe(2);
    expect(tallyOf([first, edited, decision(5, {})])).toEqual({
      approvals: 2,
      proposed: undefined,
    });
  });
});

describe("JSON", () => {
  it("is the same in any order of fields, but not of elements", () => {
    expect(sameJson({ a: { x: 1, y: 2 }, b: 1 }, { b: 1, a: { y: 2, x: 1 } })).toBe(true);
    expect(sameJson([1, 2], [2, 1])).toBe(false);
    expect(sameJson(null, {})).toBe(false);
  });
});
