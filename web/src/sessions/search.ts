import type { SessionFilter, SessionStatus } from "@/gql/graphql";
import { count, flag, oneOf, searchOf, trimmed } from "@/shell/search";

export const SESSION_STATUSES: readonly SessionStatus[] = [
  "ACTIVE",
  "WAITING",
  "PAUSED",
  "IDLE",
  "STARTED",
];

export const sessionListSearch = searchOf({
  /** Words of titles, customer keys and messages, or a session's id. */
  q: trimmed,
  status: oneOf(SESSION_STATUSES),
  /** Only sessions whose latest turn failed or was stopped. */
  failed: flag,
  /** Only sessions with an answer that somebody has rated down. */
  rated: oneOf(["down"] as const),
  agent: trimmed,
  harness: trimmed,
  tag: trimmed,
  customer: trimmed,
  /** How many days back sessions were created. */
  days: count,
  /** The dialog for a new session is open, with this agent chosen unless it is empty. */
  new: (value) => (typeof value === "string" ? value : undefined),
});

/** What the address of the list of sessions holds. */
export type SessionListSearch = ReturnType<typeof sessionListSearch>;

const DAY_MS = 86_400_000;

/** The filter of the API for an address; null for all sessions. `now` is when the list was opened. */
export function sessionFilter(search: SessionListSearch, now: number): SessionFilter | null {
  const { q, status, failed, rated, agent, harness, tag, customer, days } = search;
  const filter: SessionFilter = {
    ...(q && { search: q }),
    ...(status && { status: [status] }),
    ...(failed && { failed }),
    ...(rated && { ratedDown: true }),
    ...(agent && { agentId: agent }),
    ...(harness && { harnessId: harness }),
    ...(tag && { tag }),
    ...(customer && { customerKey: customer }),
    ...(days && { createdAfter: new Date(now - days * DAY_MS).toISOString() }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}
