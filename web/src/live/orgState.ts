import type {
  LatestTurnsFragment,
  OrgEventsSubscription,
  SessionBriefFragment,
  SessionStatus,
} from "@/gql/graphql";
import { WAIT_KINDS } from "./waitKinds";

/** One event of the organization's feed. */
export type OrgEvent = OrgEventsSubscription["orgEvents"];

/** A session as lists show it. */
export interface LiveSession {
  readonly id: string;
  readonly title: string | null;
  /** The agent, or the harness where there is none. */
  readonly runs: string | null;
  readonly forked: boolean;
  /** It tries a draft, and is in no list. */
  readonly trial: boolean;
  readonly status: SessionStatus;
  /** The sequence up to which this is true; events before it say nothing new. */
  readonly sequence: number;
  readonly updatedAt: string;
  readonly turn: LiveTurn | null;
  /** How the latest turn that ended went wrong; undefined while that is not known. */
  readonly failure: LiveFailure | null | undefined;
  /** False for one that is known from events alone: it lacks its name, and may be a trial. */
  readonly read: boolean;
  /** Which one it was of those that were started while this was looking, from 1; 0 for any other. */
  readonly startedAs: number;
}

export interface LiveTurn {
  readonly id: string;
  readonly since: string;
  readonly preview: string | null;
}

export interface LiveFailure {
  readonly turnId: string;
  /** The turn was stopped on purpose and did not break. */
  readonly sealed: boolean;
  readonly code: string;
  readonly message: string;
  readonly at: string;
}

/** What the organization's sessions are doing, made from reading them once and from events after that. */
export interface OrgState {
  readonly sessions: Readonly<Record<string, LiveSession>>;
  /** How many sessions were started while this was looking, trials as well. */
  readonly started: number;
  /** Grows with each event after which something waits for somebody, or waits no more. */
  readonly waitsVersion: number;
}

export const initialOrgState: OrgState = { sessions: {}, started: 0, waitsVersion: 0 };

/** Far more than any list shows; the oldest at rest are forgotten beyond it. */
const MOST_SESSIONS = 500;

/** The organization after one more event. It is pure, and ignores what it has seen. */
export function foldOrgEvent(state: OrgState, event: OrgEvent): OrgState {
  const { sessionId, sequence } = event;
  if (event.__typename === "CaughtUp" || sessionId === null || sequence === null) return state;
  const before = state.sessions[sessionId];
  if (before && sequence <= before.sequence) return state;
  const begins = event.__typename === "SessionStarted";
  const started = state.started + (begins ? 1 : 0);
  const session = {
    ...apply(before ?? unreadSession(sessionId, event.occurredAt), event),
    ...(begins && { startedAs: started }),
    sequence,
    updatedAt: event.occurredAt,
  };
  return {
    sessions: prune({ ...state.sessions, [sessionId]: session }),
    started,
    waitsVersion: state.waitsVersion + (WAIT_KINDS.includes(event.kind) ? 1 : 0),
  };
}

function unreadSession(id: string, at: string): LiveSession {
  return {
    id,
    title: null,
    runs: null,
    forked: false,
    trial: false,
    status: "IDLE",
    sequence: 0,
    updatedAt: at,
    turn: null,
    failure: undefined,
    read: false,
    startedAs: 0,
  };
}

function apply(session: LiveSession, event: OrgEvent): LiveSession {
  switch (event.__typename) {
    case "SessionStarted":
      return { ...session, status: "STARTED" };
    case "SessionActivated":
      return { ...session, status: "ACTIVE" };
    case "SessionIdled":
      return { ...session, status: "IDLE", turn: null };
    case "SessionWaiting":
      return { ...session, status: "WAITING" };
    case "SessionPaused":
      return { ...session, status: "PAUSED" };
    case "SessionResumed":
      return { ...session, status: "ACTIVE" };
    case "SessionTitleChanged":
      return { ...session, title: event.title };
    case "TurnStarted": {
      const turn = { since: event.occurredAt, preview: event.inputPreview };
      return {
        ...session,
        status: "ACTIVE",
        turn: event.turnId === null ? session.turn : { id: event.turnId, ...turn },
      };
    }
    case "TurnCompleted":
      return { ...endTurn(session, event.turnId), failure: null };
    case "TurnCancelled":
      // One that was still queued says nothing of how the turns before it ended.
      return session.turn?.id === event.turnId
        ? { ...session, turn: null, failure: null }
        : session;
    case "TurnFailed":
    case "TurnSealed":
      return {
        ...endTurn(session, event.turnId),
        failure: {
          turnId: event.turnId ?? "",
          sealed: event.__typename === "TurnSealed",
          ...event.error,
          at: event.occurredAt,
        },
      };
    default:
      return session;
  }
}

function endTurn(session: LiveSession, turnId: string | null): LiveSession {
  return session.turn?.id === turnId ? { ...session, turn: null } : session;
}

/** Takes in what was read of sessions. Events that came meanwhile may know more than the reading does. */
export function mergeBriefs(state: OrgState, briefs: readonly SessionBriefFragment[]): OrgState {
  const sessions = { ...state.sessions };
  for (const brief of briefs) {
    const read = sessionOfBrief(brief);
    const known = sessions[brief.id];
    if (!known || known.sequence <= read.sequence) {
      // The reading has no words of the turn under way; the event that began it does.
      const preview = known?.turn?.id === read.turn?.id ? (known?.turn?.preview ?? null) : null;
      sessions[brief.id] = {
        ...read,
        turn: read.turn && { ...read.turn, preview },
        startedAs: known?.startedAs ?? 0,
      };
    } else {
      sessions[brief.id] = {
        ...known,
        title: known.title ?? read.title,
        runs: read.runs,
        forked: read.forked,
        trial: read.trial,
        failure: known.failure === undefined ? read.failure : known.failure,
        read: true,
      };
    }
  }
  return { ...state, sessions: prune(sessions) };
}

function sessionOfBrief(brief: SessionBriefFragment): LiveSession {
  const { activeTurn, forkedThrough } = brief;
  return {
    id: brief.id,
    title: brief.title,
    runs: brief.agent?.displayName ?? brief.harness.displayName,
    forked: forkedThrough > 0,
    trial: brief.trial,
    status: statusOf(brief),
    sequence: brief.lastSequence,
    updatedAt: brief.updatedAt,
    turn: activeTurn && {
      id: activeTurn.id,
      since: activeTurn.startedAt ?? activeTurn.queuedAt,
      preview: null,
    },
    failure: failureOf(brief),
    read: true,
    startedAs: 0,
  };
}

/** The latest turns that ran in the session itself, and not in the one that it was forked from. */
function ownTurns({ turns, forkedThrough }: LatestTurnsFragment) {
  return turns.nodes.filter(({ endedSequence }) => (endedSequence ?? Infinity) > forkedThrough);
}

/** A fork that has done nothing yet is as new as any other session, and not at rest. */
export function statusOf(session: LatestTurnsFragment & { status: SessionStatus }): SessionStatus {
  const unused = session.forkedThrough > 0 && ownTurns(session).length === 0;
  return unused && session.status === "IDLE" ? "STARTED" : session.status;
}

/** How the latest turn of its own that ended went wrong; null when it didn't. */
export function failureOf(session: LatestTurnsFragment & { updatedAt: string }) {
  // One that was cancelled before it began says nothing of those before it.
  const ended = ownTurns(session).find(
    (turn) => turn.finishedAt !== null && turn.startedAt !== null,
  );
  if (ended?.status !== "FAILED" && ended?.status !== "SEALED") return null;
  return {
    turnId: ended.id,
    sealed: ended.status === "SEALED",
    code: ended.error?.code ?? "internal",
    message: ended.error?.message ?? "The turn ended without a reason.",
    at: ended.finishedAt ?? session.updatedAt,
  };
}

function prune(sessions: Record<string, LiveSession>): Record<string, LiveSession> {
  const all = Object.values(sessions);
  if (all.length <= MOST_SESSIONS) return sessions;
  const working = all.filter(({ turn }) => turn !== null);
  const resting = all.filter(({ turn }) => turn === null).sort(newestFirst);
  // Half is kept, so that this is not done anew for every event.
  const kept = [...working, ...resting.slice(0, MOST_SESSIONS / 2)];
  return Object.fromEntries(kept.map((session) => [session.id, session]));
}

function newestFirst(left: LiveSession, right: LiveSession): number {
  return compare(right.updatedAt, left.updatedAt) || compare(right.id, left.id);
}

// Times are all in UTC and of one precision, so that their order is that of their letters.
function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** All but trials. Those that have not been read may be trials, too: they are to be read before they are shown. */
const listed = ({ sessions }: OrgState) => Object.values(sessions).filter(({ trial }) => !trial);

/** Sessions that are at work on a turn, the one that has worked longest first. */
export function workingSessions(state: OrgState): LiveSession[] {
  return listed(state)
    .filter(({ turn }) => turn !== null)
    .sort((left, right) => compare(left.turn?.since ?? "", right.turn?.since ?? ""));
}

/** Sessions whose latest turn went wrong, the latest first. */
export function failedSessions(state: OrgState): LiveSession[] {
  return listed(state)
    .filter(({ failure }) => failure)
    .sort((left, right) => compare(right.failure?.at ?? "", left.failure?.at ?? ""));
}

export function recentSessions(state: OrgState): LiveSession[] {
  return listed(state).sort(newestFirst);
}

/** Those that were started after the first so many. */
export function startedSince(state: OrgState, seen: number): LiveSession[] {
  return listed(state).filter(({ startedAs }) => startedAs > seen);
}
