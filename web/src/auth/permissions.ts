import type { Permission } from "@/gql/graphql";

/** What each permission allows, as the end of "may …". */
export const PERMISSION_WORDS: Record<Permission, string> = {
  ORG_READ: "see the organization",
  ORG_MANAGE: "edit organization settings",
  MEMBERS_READ: "see members",
  MEMBERS_MANAGE: "invite, edit and remove members",
  API_KEYS_MANAGE: "create and revoke API keys",
  AUDIT_READ: "read the audit log",
  CATALOG_READ: "see agents, harnesses and models",
  CATALOG_WRITE: "create and edit agents and harnesses",
  CATALOG_DELETE: "archive agents and harnesses",
  PROVIDERS_READ: "see provider settings",
  PROVIDERS_MANAGE: "manage providers and models",
  SESSIONS_READ: "read sessions",
  SESSIONS_WRITE: "start sessions and send messages",
  SESSIONS_DELETE: "delete sessions",
  BUDGETS_READ: "see budgets",
  BUDGETS_MANAGE: "manage budgets and payments",
  USAGE_READ: "see usage and costs",
  APPROVALS_DECIDE: "decide approvals",
  WEBHOOKS_MANAGE: "manage webhooks",
  PLATFORM_READ: "view the platform",
  PLATFORM_MANAGE: "manage the platform",
};
