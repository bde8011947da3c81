import { describe, expect, it } from "vitest";
import type { InvitationRowFragment, MemberRowFragment, Role } from "@/gql/graphql";
import { invitationLink, invitationState, memberRights } from "./memberRules";

const member = (id: string, role: Role): MemberRowFragment => ({
  id,
  role,
  createdAt: "2026-11-20T10:00:00.000Z",
  user: { id: `user_${id}`, name: id, email: `${id}@example.com` },
});

describe("memberRights", () => {
  const owner = member("owner", "OWNER");
  const admin = member("admin", "ADMIN");
  const viewer = member("viewer", "VIEWER");
  const all = [owner, admin, viewer];

  it("offers no role above one's own", () => {
    const rights = memberRights(viewer, all, true, { role: "ADMIN", mayManage: true });
    expect(rights.roles).toEqual(["ADMIN", "MEMBER", "VIEWER"]);
    expect(rights.removable).toBe(true);
  });

  it("leaves those above oneself alone", () => {
    const rights = memberRights(owner, all, true, { role: "ADMIN", mayManage: true });
    expect(rights).toMatchObject({ roles: [], removable: false });
    expect(rights.reason).toContain("above yours");
  });

  it("keeps the last owner, but only where it is known to be the last", () => {
    const boss = { role: "OWNER", mayManage: true } as const;
    expect(memberRights(owner, all, true, boss).reason).toContain("only owner");
    expect(memberRights(owner, all, false, boss).removable).toBe(true);
    const two = [...all, member("second", "OWNER")];
    expect(memberRights(owner, two, true, boss).removable).toBe(true);
  });

  it("offers nothing to those who manage no members, and gives no reason for each of them", () => {
    expect(memberRights(viewer, all, true, { role: "MEMBER", mayManage: false })).toEqual({
      roles: [],
      removable: false,
      reason: null,
    });
  });
});

describe("invitationState", () => {
  const pending: InvitationRowFragment = {
    id: "inv_1",
    email: "ada@example.com",
    role: "MEMBER",
    createdAt: "2026-11-01T10:00:00.000Z",
    expiresAt: "2026-11-08T10:00:00.000Z",
    acceptedAt: null,
    revokedAt: null,
  };
  const at = (time: string) => new Date(time).getTime();
  const before = at("2026-11-02T10:00:00.000Z");
  const after = at("2026-11-09T10:00:00.000Z");

  it.each([
    ["pending", pending, before],
    ["expired", pending, after],
    ["accepted", { ...pending, acceptedAt: "2026-11-03T10:00:00.000Z" }, after],
    ["revoked", { ...pending, revokedAt: "2026-11-03T10:00:00.000Z" }, after],
    // Replaced by another one after its time was over.
    ["expired", { ...pending, revokedAt: "2026-11-09T09:00:00.000Z" }, after],
  ] as const)("is %s", (state, invitation, now) => {
    expect(invitationState(invitation, now)).toBe(state);
  });
});

it("makes a link of a token", () => {
  expect(invitationLink("https://ostler.example", "a+b/c")).toBe(
    "https://ostler.example/invite?token=a%2Bb%2Fc",
  );
});
