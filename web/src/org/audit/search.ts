import type { AuditFilter } from "@/gql/graphql";
import { searchOf, trimmed } from "@/shell/search";

function time(value: unknown): string | undefined {
  const text = trimmed(value);
  return text === undefined || Number.isNaN(Date.parse(text)) ? undefined : text;
}

export const auditSearch = searchOf({
  action: trimmed,
  /** The id of a person or an API key. */
  actor: trimmed,
  target: trimmed,
  /** Times as the API takes them. */
  from: time,
  to: time,
});

/** What the address of the audit log holds. */
export type AuditSearch = ReturnType<typeof auditSearch>;

/** What is filtered by, by the names of the API. */
export function auditParameters({
  action,
  actor,
  target,
  from,
  to,
}: AuditSearch): Readonly<Record<string, string>> {
  return {
    ...(action && { action }),
    ...(actor && { actorId: actor }),
    ...(target && { targetId: target }),
    ...(from && { from: new Date(from).toISOString() }),
    ...(to && { to: new Date(to).toISOString() }),
  };
}

/** Null where nothing is filtered. */
export function auditFilter(search: AuditSearch): AuditFilter | null {
  const filter: AuditFilter = auditParameters(search);
  return Object.keys(filter).length === 0 ? null : filter;
}

/** A time as a field for dates with times holds it, in the viewer's zone. */
export function toLocalField(time: string | undefined): string {
  if (time === undefined) return "";
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The other way round; undefined for what is empty or not finished. */
export function fromLocalField(text: string): string | undefined {
  if (text === "" || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(text).toISOString();
}
