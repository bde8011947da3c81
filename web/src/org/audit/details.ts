import { formatAmount } from "@/money/amounts";
import { formatDateTime } from "@/ui/format";

/** One thing that a deed changed, or something else that is told of it. */
export interface Detail {
  name: string;
  /** What it was and what it became, where the entry holds both. */
  before?: unknown;
  after?: unknown;
  /** All else. */
  value?: unknown;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isChange = (value: unknown): value is { before: unknown; after: unknown } =>
  isObject(value) && "before" in value && "after" in value && Object.keys(value).length === 2;

/**
 * What an entry tells, as rows. Changes are stored in three ways: as `{field: {before, after}}`, as `before` and `after`
 * of one value, and as `before` and `after` that are objects of fields; `before` alone is what was removed, and `after`
 * alone what was made.
 */
export function detailsOf(details: unknown): Detail[] {
  if (!isObject(details)) return [];
  const { before, after, ...others } = details;
  const rows = Object.entries(others).map(([name, value]) =>
    isChange(value) ? { name, before: value.before, after: value.after } : { name, value },
  );
  if (!("before" in details) && !("after" in details)) return rows;
  const fieldsOf = (value: unknown) => (isObject(value) ? value : {});
  if (!isObject(before) && !isObject(after)) return [{ name: "value", before, after }, ...rows];
  const was = fieldsOf(before);
  const is = fieldsOf(after);
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return [...names.map((name) => ({ name, before: was[name], after: is[name] })), ...rows];
}

export function detailText(name: string, value: unknown): string {
  if (value === undefined || value === null || value === "") return "–";
  // Times are stored as milliseconds or as text.
  if (/[a-z]At$/.test(name) && isTime(value)) return formatDateTime(value);
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return value.length === 0 ? "–" : value.join(", ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isTime(value: unknown): value is string | number {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

/** What came of it, in a few words for one line: what was changed, from what to what where that is short; null for nothing. */
export function outcomeOf(details: unknown): string | null {
  if (!isObject(details)) return null;
  if (typeof details.amount === "string" && typeof details.currency === "string") {
    return formatAmount(details.amount, details.currency);
  }
  if (Array.isArray(details.fields)) return listOf(details.fields);
  const changes = detailsOf(details).filter(
    ({ before, after }) =>
      before !== undefined &&
      after !== undefined &&
      JSON.stringify(before) !== JSON.stringify(after),
  );
  const [change, ...more] = changes;
  if (!change) return null;
  if (more.length > 0) return listOf(changes.map(({ name }) => name));
  const { name, before, after } = change;
  const words = `${detailText(name, before)} → ${detailText(name, after)}`;
  if (words.length > 60) return name;
  return name === "value" ? words : `${name}: ${words}`;
}

function listOf(names: readonly unknown[]): string | null {
  return names.length === 0 ? null : names.map(String).join(", ");
}

/** "member.role_changed" as "Member role changed". */
export function actionWords(action: string): string {
  const words = action
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll(/[._]/g, " ")
    .toLowerCase()
    .replace(/^api /, "API ")
    .replace("signin", "sign-in");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What the filter offers; the address may name any other action. */
export const KNOWN_ACTIONS = [
  "agent.archived",
  "agent.created",
  "agent.restored",
  "agent.unarchived",
  "agent.updated",
  "apiKey.created",
  "apiKey.revoked",
  "approval.decided",
  "budget.created",
  "budget.disabled",
  "budget.topped_up",
  "budget.updated",
  "harness.archived",
  "harness.created",
  "harness.restored",
  "harness.unarchived",
  "harness.updated",
  "identity.linked",
  "identity.unlinked",
  "invitation.accepted",
  "invitation.created",
  "invitation.revoked",
  "member.removed",
  "member.role_changed",
  "message.edited",
  "model.created",
  "model.updated",
  "org.created",
  "org.limits_changed",
  "org.updated",
  "password.changed",
  "password.reset",
  "password.reset_requested",
  "payment.settled",
  "payment_policy.created",
  "payment_policy.deleted",
  "payment_policy.updated",
  "provider.archived",
  "provider.created",
  "provider.updated",
  "session.resumed",
  "signin.ended",
  "signin.failed",
  "signin.revoked",
  "signin.succeeded",
  "signin.token_reused",
  "user.updated",
  "webhook.created",
  "webhook.deleted",
  "webhook.delivery.replayed",
  "webhook.disabled",
  "webhook.tested",
  "webhook.updated",
] as const;
