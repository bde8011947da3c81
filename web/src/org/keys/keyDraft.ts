import type { ApiKeyRowFragment, CreateApiKeyInput, Permission } from "@/gql/graphql";

/** For how long a key is good: days, for ever, or until a day of one's choice. */
export type KeyLifetime = "30" | "90" | "365" | "never" | "date";

export interface KeyDraft {
  name: string;
  permissions: readonly Permission[];
  lifetime: KeyLifetime;
  /** As a field for dates holds it, e.g. "2027-01-31"; in the viewer's zone, and good until its end. */
  date: string;
}

interface PermissionGroup {
  label: string;
  permissions: readonly Permission[];
}

/** All that a key may hold. The permissions of operators are never given to keys. */
const GROUPS: readonly PermissionGroup[] = [
  { label: "Sessions", permissions: ["SESSIONS_READ", "SESSIONS_WRITE"] },
  { label: "Approvals", permissions: ["APPROVALS_DECIDE"] },
  {
    label: "Agents and harnesses",
    permissions: ["CATALOG_READ", "CATALOG_WRITE", "CATALOG_DELETE"],
  },
  { label: "Providers and models", permissions: ["PROVIDERS_READ", "PROVIDERS_MANAGE"] },
  { label: "Budgets and usage", permissions: ["BUDGETS_READ", "BUDGETS_MANAGE", "USAGE_READ"] },
  {
    label: "Organization",
    permissions: [
      "ORG_READ",
      "ORG_MANAGE",
      "MEMBERS_READ",
      "MEMBERS_MANAGE",
      "API_KEYS_MANAGE",
      "AUDIT_READ",
      "WEBHOOKS_MANAGE",
    ],
  },
];

/** What a creator may give: nothing that they don't hold themselves. */
export function grantableGroups(held: readonly Permission[]): readonly PermissionGroup[] {
  return GROUPS.map(({ label, permissions }) => ({
    label,
    permissions: permissions.filter((each) => held.includes(each)),
  })).filter(({ permissions }) => permissions.length > 0);
}

/** What comes with others: a session can't be read without what it was made of. */
export function impliedBy(permissions: readonly Permission[]): readonly Permission[] {
  return permissions.includes("SESSIONS_READ") ? ["CATALOG_READ"] : [];
}

/** A key that runs sessions, as far as its creator may give that. */
export function newKeyDraft(held: readonly Permission[]): KeyDraft {
  const usual: Permission[] = ["ORG_READ", "SESSIONS_READ", "SESSIONS_WRITE"];
  return {
    name: "",
    permissions: usual.filter((each) => held.includes(each)),
    lifetime: "90",
    date: "",
  };
}

const DAY = 24 * 60 * 60 * 1000;

export function expiryOf({ lifetime, date }: KeyDraft, now: number): string | null {
  if (lifetime === "never") return null;
  // Through the end of that day.
  if (lifetime === "date")
    return date === "" ? null : new Date(`${date}T23:59:59.999`).toISOString();
  return new Date(now + Number(lifetime) * DAY).toISOString();
}

/** What is wrong before it is even sent; null when nothing is. */
export function keyProblem(draft: KeyDraft): string | null {
  if (draft.permissions.length === 0) return "Choose at least one permission.";
  if (draft.lifetime === "date" && draft.date === "") return "Choose an expiry date.";
  return null;
}

export function createKeyInput(draft: KeyDraft, now: number): CreateApiKeyInput {
  return {
    name: draft.name.trim(),
    permissions: [...draft.permissions],
    expiresAt: expiryOf(draft, now),
  };
}

export type KeyState = "active" | "revoked" | "expired";

export function keyState({ revokedAt, expiresAt }: ApiKeyRowFragment, now: number): KeyState {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && new Date(expiresAt).getTime() <= now ? "expired" : "active";
}
