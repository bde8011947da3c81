import type { Permission } from "@/gql/graphql";

/** What each permission allows, as the end of "may …". */
export const PERMISSION_WORDS: Record<Permission, string> = {
  ORG_READ: "see the organization",
  ORG_MANAGE: "change the organization",
  MEMBERS_READ: "see who belongs to the organization",
  MEMBERS_MANAGE: "invite, change and remove members",
  API_KEYS_MANAGE: "create and revoke API keys",
  AUDIT_READ: "read the audit log",
  CATALOG_READ: "see agents, harnesses and models",
  CATALOG_WRITE: "create and change agents and harnesses",
  CATALOG_DELETE: "archive agents and harnesses",
  PROVIDERS_READ: "see how providers are set up",
  PROVIDERS_MANAGE: "set up providers and models",
  SESSIONS_READ: "read sessions",
  SESSIONS_WRITE: "start sessions and write in them",
  SESSIONS_DELETE: "delete sessions",
  BUDGETS_READ: "see budgets",
  BUDGETS_MANAGE: "set and change budgets",
  USAGE_READ: "see what was used",
  APPROVALS_DECIDE: "decide about approvals",
  WEBHOOKS_MANAGE: "set up webhooks",
  PLATFORM_READ: "see the platform",
  PLATFORM_MANAGE: "run the platform",
};
