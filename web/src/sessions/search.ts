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
export const amount = (value: unknown) => {
  const typed = trimmed(value);
  return typed !== undefined && /^\d{1,9}(\.\d{1,9})?$/.test(typed) ? typed : undefined;
};

/** A day such as 2026-11-24. */
export const date = (value: unknown) => {
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
  /** All sessions, though another view is the one to begin with. */
  view: oneOf(["all"]),
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
  const after = [
    ...(days ? [new Date(now - days * DAY_MS).toISOString()] : []),
    ...(from ? [dayStart(from)] : []),
  ].sort();
  const createdAfter = after.at(-1);
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
    ...(createdAfter !== undefined && { createdAfter }),
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
  const { new: _, view: __, ...kept } = columns === undefined ? search : { ...search, columns };
  const entries = Object.entries(kept).map(([name, value]) => [name, String(value)] as const);
  return new URLSearchParams(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map((e) => [...e]),
  ).toString();
}

/** The address of a saved view. */
export function viewSearch(saved: string): SessionListSearch {
  return sessionListSearch(Object.fromEntries(new URLSearchParams(saved)));
}

/** The address without its filters: its order and columns stay. */
export function withoutFilters({ sort, asc, columns }: SessionListSearch): SessionListSearch {
  const kept: Change<SessionListSearch> = { sort, asc, columns };
  return changed<SessionListSearch>({ view: "all" }, kept);
}
