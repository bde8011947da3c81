import type { Permission } from "@/gql/graphql";

/**
 * The pages of the organization area, each only for who holds `needs`. A new one takes an entry here, and a route with the
 * same permission in `router.tsx`, whose component shows an `OrgPage`.
 */
export const ORG_TABS = [
  { to: "/organization", label: "General", needs: "ORG_READ" },
  { to: "/organization/members", label: "Members", needs: "MEMBERS_READ" },
  { to: "/organization/invitations", label: "Invitations", needs: "MEMBERS_READ" },
  { to: "/organization/api-keys", label: "API keys", needs: "API_KEYS_MANAGE" },
  { to: "/organization/webhooks", label: "Webhooks", needs: "WEBHOOKS_MANAGE" },
  { to: "/organization/limits", label: "Limits", needs: "ORG_READ" },
  { to: "/organization/audit", label: "Audit log", needs: "AUDIT_READ" },
  { to: "/organization/profile", label: "Your profile", needs: "ORG_READ" },
] as const satisfies readonly { to: string; label: string; needs: Permission }[];

export function offeredTabs(permissions: readonly Permission[]) {
  return ORG_TABS.filter(({ needs }) => permissions.includes(needs));
}
