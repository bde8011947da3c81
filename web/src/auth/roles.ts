import type { Role } from "@/gql/graphql";

/** From least to most. */
const RANKS: readonly Role[] = ["VIEWER", "MEMBER", "ADMIN", "OWNER"];

export function isAtLeast(role: Role | null, wanted: Role): boolean {
  return role !== null && RANKS.indexOf(role) >= RANKS.indexOf(wanted);
}

/** What somebody may grant, and whom they may change: nobody goes above their own role. From most to least. */
export function rolesUpTo(own: Role | null): readonly Role[] {
  return RANKS.filter((role) => isAtLeast(own, role)).reverse();
}

export const ROLE_LABELS: Record<Role, string> = {
  OWNER: "Owner",
  ADMIN: "Admin",
  MEMBER: "Member",
  VIEWER: "Viewer",
};
