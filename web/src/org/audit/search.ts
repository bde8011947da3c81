import type { AuditFilter } from "@/gql/graphql";

/** What the address of the audit log holds. */
export interface AuditSearch {
  action?: string;
  /** The id of a person or an API key. */
  actor?: string;
  target?: string;
  /** Times as the API takes them. */
  from?: string;
  to?: string;
}

const KEYS = ["action", "actor", "target", "from", "to"] as const;

export function auditSearch(search: Record<string, unknown>): AuditSearch {
  const read: AuditSearch = {};
  for (const key of KEYS) {
    const value = search[key];
    if (value === undefined || value === null) continue;
    // The router reads `?target=42` as a number.
    const text = String(value).trim();
    if (text === "") continue;
    if ((key === "from" || key === "to") && Number.isNaN(Date.parse(text))) continue;
    read[key] = text;
  }
  return read;
}

/** Null where nothing is filtered. */
export function auditFilter({ action, actor, target, from, to }: AuditSearch): AuditFilter | null {
  const filter: AuditFilter = {
    ...(action === undefined ? {} : { action }),
    ...(actor === undefined ? {} : { actorId: actor }),
    ...(target === undefined ? {} : { targetId: target }),
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  };
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
