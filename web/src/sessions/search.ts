import type { SessionFilter, SessionStatus } from "@/gql/graphql";

/** What the address of the list of sessions holds. */
export interface SessionListSearch {
  /** Words of titles and customer keys, or a session's id. */
  q?: string;
  status?: SessionStatus;
  /** Only sessions whose latest turn failed or was stopped. */
  failed?: true;
  agent?: string;
  harness?: string;
  tag?: string;
  customer?: string;
  /** How many days back sessions were created. */
  days?: number;
  /** The dialog for a new session is open, with this agent chosen unless it is empty. */
  new?: string;
}

export const SESSION_STATUSES: readonly SessionStatus[] = [
  "ACTIVE",
  "WAITING",
  "PAUSED",
  "IDLE",
  "STARTED",
];

const TEXTS = ["q", "agent", "harness", "tag", "customer"] as const;

export function sessionListSearch(search: Record<string, unknown>): SessionListSearch {
  const status = SESSION_STATUSES.find((each) => each === search.status);
  const days = Number(search.days);
  const found: SessionListSearch = {
    ...(status ? { status } : {}),
    ...(search.failed === true || search.failed === "true" ? { failed: true } : {}),
    ...(Number.isInteger(days) && days > 0 ? { days } : {}),
    ...(typeof search.new === "string" ? { new: search.new } : {}),
  };
  for (const name of TEXTS) {
    // The router reads a number in an address as one.
    const value = String(search[name] ?? "").trim();
    if (value !== "") found[name] = value;
  }
  return found;
}

const DAY_MS = 86_400_000;

/** The filter of the API for an address; null for all sessions. `now` is when the list was opened. */
export function sessionFilter(search: SessionListSearch, now: number): SessionFilter | null {
  const { q, status, failed, agent, harness, tag, customer, days } = search;
  const filter: SessionFilter = {
    ...(q && { search: q }),
    ...(status && { status: [status] }),
    ...(failed && { failed }),
    ...(agent && { agentId: agent }),
    ...(harness && { harnessId: harness }),
    ...(tag && { tag }),
    ...(customer && { customerKey: customer }),
    ...(days && { createdAfter: new Date(now - days * DAY_MS).toISOString() }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}
