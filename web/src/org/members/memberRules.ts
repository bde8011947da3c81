import { isAtLeast, rolesUpTo } from "@/auth/roles";
import type { InvitationRowFragment, MemberRowFragment, Role } from "@/gql/graphql";

interface Manager {
  role: Role | null;
  mayManage: boolean;
}

/** What the viewer may do with a member, and why not where that has a reason to tell. */
export interface MemberRights {
  /** The roles to choose from; empty where the role can't be changed. */
  roles: readonly Role[];
  removable: boolean;
  reason: string | null;
}

/** `complete` tells whether `members` are all there are: only then it is known who is the last owner. */
export function memberRights(
  member: MemberRowFragment,
  members: readonly MemberRowFragment[],
  complete: boolean,
  { role, mayManage }: Manager,
): MemberRights {
  const none = { roles: [], removable: false };
  if (!mayManage) return { ...none, reason: null };
  if (!isAtLeast(role, member.role)) return { ...none, reason: "This role is above yours." };
  const owners = members.filter((each) => each.role === "OWNER");
  if (complete && member.role === "OWNER" && owners.length < 2) {
    return {
      ...none,
      reason: "This is the only owner. Make someone else an owner first.",
    };
  }
  return { roles: rolesUpTo(role), removable: true, reason: null };
}

export type InvitationState = "pending" | "accepted" | "revoked" | "expired";

export function invitationState(
  { acceptedAt, revokedAt, expiresAt }: InvitationRowFragment,
  now: number,
): InvitationState {
  if (acceptedAt !== null) return "accepted";
  // One that was replaced after it had expired counts as expired: nobody took it back.
  if (new Date(expiresAt).getTime() <= (revokedAt ? new Date(revokedAt).getTime() : now)) {
    return "expired";
  }
  return revokedAt === null ? "pending" : "revoked";
}

/** The address at which an invitation is accepted. */
export function invitationLink(origin: string, token: string): string {
  return `${origin}/invite?token=${encodeURIComponent(token)}`;
}
