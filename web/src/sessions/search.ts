import type { SessionFilter, SessionOrder, SessionStatus, TurnStatus } from "@/gql/graphql";
import { type Change, changed, count, flag, oneOf, searchOf, text, trimmed } from "@/shell/search";

export const SESSION_STATUSES: readonly SessionStatus[] = [
  "ACTIVE",
  "WAITING",
  "PAUSED",
  "IDLE",
  "STARTED",
];

/** How a turn can end. */
export const OUTCOMES = [
  "COMPLETED",
  "FAILED",
  "SEALED",
  "CANCELLED",
] as const satisfies readonly TurnStatus[];

/** What lists are sorted by. */
export const SORTS = ["created", "activity", "cost", "duration"] as const;

const ORDERS: Record<(typeof SORTS)[number], SessionOrder> = {
  created: "CREATED",
  activity: "ACTIVITY",
  cost: "COST",
  duration: "DURATION",
};

/** A number of zero or more, as it was typed. */
const amount = (value: unknown) => {
  const typed = trimmed(value);
  return typed !== undefined && /^\d{1,9}(\.\d{1,9})?$/.test(typed) ? typed : undefined;
};

/** A day such as 2026-11-24. */
const date = (value: unknown) => {
  const typed = trimmed(value);
  return typed !== undefined && /^\d{4}-\d\d-\d\d$/.test(typed) && !Number.isNaN(Date.parse(typed))
    ? typed
    : undefined;
};

export const sessionListSearch = searchOf({
  /** Words of titles, customer keys and messages, or a session's id. */
  q: trimmed,
  status: oneOf(SESSION_STATUSES),
  /** Only sessions whose latest turn failed or was stopped. */
  failed: flag,
  /** Only sessions with an answer that somebody has rated down. */
  rated: oneOf(["down"] as const),
  /** How the latest turn ended. */
  outcome: oneOf(OUTCOMES),
  agent: trimmed,
  harness: trimmed,
  /** The model that was called last. */
  model: trimmed,
  tag: trimmed,
  customer: trimmed,
  /** How many days back sessions were created. */
  days: count,
  /** The first and the last day on which they were created. */
  from: date,
  to: date,
  /** What they cost, in dollars. */
  costFrom: amount,
  costTo: amount,
  /** How long the latest turn took, in seconds. */
  tookFrom: amount,
  tookTo: amount,
  sort: oneOf(SORTS),
  asc: flag,
  /** The columns of a saved view; else those that were chosen in this browser. */
  columns: text,
  /** The dialog for a new session is open, with this agent chosen unless it is empty. */
  new: (value) => (typeof value === "string" ? value : undefined),
});

/** What the address of the list of sessions holds. */
export type SessionListSearch = ReturnType<typeof sessionListSearch>;

const DAY_MS = 86_400_000;

/** The beginning of a day in the viewer's zone, so many days later. */
function dayStart(day: string, later = 0): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

const milliseconds = (seconds: string) => Math.round(Number(seconds) * 1000);

/** The filter of the API for an address; null for all sessions. `now` is when the list was opened. */
export function sessionFilter(search: SessionListSearch, now: number): SessionFilter | null {
  const {
    q,
    status,
    failed,
    rated,
    outcome,
    agent,
    harness,
    model,
    tag,
    customer,
    days,
    from,
    to,
  } = search;
  const { costFrom, costTo, tookFrom, tookTo } = search;
  const filter: SessionFilter = {
    ...(q && { search: q }),
    ...(status && { status: [status] }),
    ...(failed && { failed }),
    ...(rated && { ratedDown: true }),
    ...(outcome && { outcome }),
    ...(agent && { agentId: agent }),
    ...(harness && { harnessId: harness }),
    ...(model && { modelId: model }),
    ...(tag && { tag }),
    ...(customer && { customerKey: customer }),
    ...(days && { createdAfter: new Date(now - days * DAY_MS).toISOString() }),
    ...(from && { createdAfter: dayStart(from) }),
    ...(to && { createdBefore: dayStart(to, 1) }),
    ...(costFrom && { minCostUsd: costFrom }),
    ...(costTo && { maxCostUsd: costTo }),
    ...(tookFrom && { minDurationMs: milliseconds(tookFrom) }),
    ...(tookTo && { maxDurationMs: milliseconds(tookTo) }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}

/** The variables of the list for an address. */
export function sessionQuery(search: SessionListSearch, now: number) {
  const { q = "", sort = "created", asc } = search;
  return {
    filter: sessionFilter(search, now),
    orderBy: ORDERS[sort],
    direction: asc ? ("ASC" as const) : ("DESC" as const),
    q,
    searching: q !== "",
  };
}

/** What a saved view keeps of an address, always in the same order. */
export function viewText(search: SessionListSearch, columns?: string): string {
  const { new: _, ...kept } = columns === undefined ? search : { ...search, columns };
  const entries = Object.entries(kept).map(([name, value]) => [name, String(value)] as const);
  return new URLSearchParams(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map((e) => [...e]),
  ).toString();
}

/** The address of a saved view. */
export function viewSearch(saved: string): SessionListSearch {
  return sessionListSearch(Object.fromEntries(new URLSearchParams(saved)));
}

/** The change of an address that leaves its order and columns. */
export function withoutFilters({ sort, asc, columns }: SessionListSearch): SessionListSearch {
  return changed<SessionListSearch>({}, { sort, asc, columns } as Change<SessionListSearch>);
}
