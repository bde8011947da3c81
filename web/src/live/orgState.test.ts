import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionBriefFragment } from "@/gql/graphql";
import { OrgFeed } from "./orgFeed";
import {
  failedSessions,
  foldOrgEvent,
  initialOrgState,
  mergeBriefs,
  type OrgEvent,
  type OrgState,
  recentSessions,
  startedSince,
  workingSessions,
} from "./orgState";

const at = (second: number) => `2026-11-20T10:00:${String(second).padStart(2, "0")}.000Z`;

function event(
  name: OrgEvent["__typename"],
  sequence: number,
  own: Record<string, unknown> = {},
): OrgEvent {
  return {
    __typename: name,
    id: `evt_${name}_${sequence}`,
    kind: "TURN_STARTED",
    sequence,
    cursor: `c${sequence}`,
    occurredAt: at(sequence),
    sessionId: "sess_1",
    turnId: "turn_1",
    ...own,
  } as unknown as OrgEvent;
}

it("shows a session that its budget has paused", () => {
  const working = [event("SessionActivated", 1), event("TurnStarted", 2, { inputPreview: "Go" })];
  const paused = event("SessionPaused", 3);
  const state = [...working, paused].reduce(foldOrgEvent, initialOrgState);
  expect(state.sessions.sess_1?.status).toBe("PAUSED");
  // It still has its turn to do.
  expect(workingSessions(state)).toHaveLength(1);
});

const failure = { code: "provider_misconfigured", message: "Check the key." };
const life: OrgEvent[] = [
  event("SessionStarted", 1, { turnId: null }),
  event("SessionActivated", 3),
  event("TurnStarted", 4, { inputPreview: "Write a file" }),
  event("TurnFailed", 9, { error: failure }),
  event("SessionIdled", 10),
  event("SessionActivated", 12),
  event("TurnStarted", 13, { turnId: "turn_2", inputPreview: "Again" }),
  event("TurnCompleted", 20, { turnId: "turn_2" }),
  event("SessionIdled", 21),
];

function brief(lastSequence: number, own: Partial<SessionBriefFragment> = {}) {
  return {
    id: "sess_1",
    title: "Notes",
    status: "IDLE",
    lastSequence,
    updatedAt: at(lastSequence),
    agent: { id: "agent_1", displayName: "Helper" },
    harness: { id: "harness_1", displayName: "Generic" },
    activeTurn: null,
    forkedThrough: 0,
    trial: false,
    turns: { nodes: [] },
    ...own,
  } as SessionBriefFragment;
}

const fold = (events: readonly OrgEvent[], from: OrgState = initialOrgState) =>
  events.reduce(foldOrgEvent, from);
const only = (state: OrgState) => state.sessions.sess_1;

describe("foldOrgEvent", () => {
  it("shows a turn while it runs, and its failure until a later turn ends well", () => {
    const running = fold(life.slice(0, 3));
    expect(workingSessions(running).map(({ turn }) => turn?.preview)).toEqual(["Write a file"]);
    const failed = fold(life.slice(0, 5));
    expect(workingSessions(failed)).toEqual([]);
    expect(failedSessions(failed)[0]?.failure).toMatchObject({ ...failure, sealed: false });
    expect(failedSessions(fold(life.slice(0, 7)))).toHaveLength(1);
    expect(failedSessions(fold(life))).toEqual([]);
  });

  it("tells that a session waits, and when what waits is to be read anew", () => {
    const waiting = [
      ...life.slice(0, 3),
      event("TurnWaiting", 5, { kind: "TURN_WAITING" }),
      event("SessionWaiting", 6, { kind: "SESSION_WAITING" }),
    ];
    const state = fold(waiting);
    expect(only(state)).toMatchObject({ status: "WAITING", turn: { id: "turn_1" } });
    expect(state.waitsVersion).toBe(1);
    const resumed = fold([
      ...waiting,
      event("SessionResumed", 7, { kind: "SESSION_RESUMED" }),
      event("TurnResumed", 8, { kind: "TURN_RESUMED" }),
    ]);
    expect(only(resumed)?.status).toBe("ACTIVE");
    expect(resumed.waitsVersion).toBe(2);
  });

  it("takes a cancelled turn for no failure, and a cancel in the queue for no end", () => {
    const failed = fold(life.slice(0, 7));
    const queued = foldOrgEvent(failed, event("TurnCancelled", 14, { turnId: "turn_9" }));
    expect(only(queued)).toMatchObject({ turn: { id: "turn_2" }, failure });
    const cancelled = foldOrgEvent(queued, event("TurnCancelled", 15, { turnId: "turn_2" }));
    expect(only(cancelled)).toMatchObject({ turn: null, failure: null });
  });

  it("ignores what it has seen, in any repeat", () => {
    const expected = fold(life);
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 4 }), { minLength: life.length, maxLength: life.length }),
        (back) => {
          const repeated = life.flatMap((each, i) => [
            ...life.slice(i - Math.min(i, back[i] ?? 0), i),
            each,
          ]);
          expect(fold(repeated)).toEqual(expected);
        },
      ),
    );
  });

  it("does not end the turn after the one that an event is about", () => {
    const state = fold([...life.slice(0, 7), event("TurnSealed", 14, { error: failure })]);
    expect(only(state)?.turn?.id).toBe("turn_2");
  });

  it("counts new sessions, so that lists know that they are no longer whole", () => {
    expect(fold(life).started).toBe(1);
  });

  it("forgets sessions at rest beyond its limit, and never one at work", () => {
    const many = Array.from({ length: 700 }, (_, i) =>
      event("SessionIdled", 5, { sessionId: `s${i}`, occurredAt: `2026-11-21T${1000 + i}` }),
    );
    const state = fold([...life.slice(0, 3), ...many]);
    expect(Object.keys(state.sessions).length).toBeLessThanOrEqual(500);
    expect(only(state)?.turn?.id).toBe("turn_1");
    expect(recentSessions(state)[0]?.id).toBe("s699");
  });
});

describe("mergeBriefs", () => {
  it("gives what is known from events alone its name", () => {
    const state = mergeBriefs(fold(life), [brief(21)]);
    expect(only(state)).toMatchObject({ title: "Notes", runs: "Helper", read: true });
  });

  it("lets newer events win over an older reading, wherever the reading comes in", () => {
    const final = only(mergeBriefs(fold(life), [brief(21)]));
    fc.assert(
      fc.property(fc.nat({ max: life.length }), (cut) => {
        const read = brief(2, { status: "STARTED" });
        const state = fold(life.slice(cut), mergeBriefs(fold(life.slice(0, cut)), [read]));
        const now = only(state);
        // A reading says nothing of whether its beginning was seen.
        const startedAs = cut === 0 ? 0 : 1;
        expect(now).toEqual({ ...final, title: "Notes", runs: "Helper", startedAs });
      }),
    );
  });

  it("takes the latest turn that ended for how it went", () => {
    const turn = (status: string, finishedAt: string | null) => ({
      id: `turn_${status}`,
      status,
      stopReason: null,
      finishedAt,
      error: status === "FAILED" ? failure : null,
    });
    const nodes = [turn("QUEUED", null), turn("FAILED", at(5)), turn("COMPLETED", at(2))];
    const state = mergeBriefs(initialOrgState, [brief(6, { turns: { nodes } as never })]);
    expect(failedSessions(state)[0]?.failure).toMatchObject({ turnId: "turn_FAILED", at: at(5) });
  });

  it("takes a fork that has not run yet for new, however its history ended", () => {
    const turn = (id: string, endedSequence: number | null, status = "FAILED") => ({
      id,
      status,
      startedAt: at(1),
      finishedAt: endedSequence === null ? null : at(5),
      endedSequence,
      error: failure,
    });
    const fork = (...nodes: object[]) =>
      only(
        mergeBriefs(initialOrgState, [brief(11, { forkedThrough: 10, turns: { nodes } as never })]),
      );
    const past = turn("turn_past", 10);
    expect(fork(past)).toMatchObject({ forked: true, status: "STARTED", failure: null });
    expect(fork(turn("turn_own", 15), past)).toMatchObject({
      status: "IDLE",
      failure: { turnId: "turn_own" },
    });
    expect(fork(turn("turn_own", null, "RUNNING"), past)).toMatchObject({ failure: null });
  });
});

describe("OrgFeed", () => {
  const caughtUp = event("CaughtUp", 0, { sessionId: null, cursor: "c0" });

  it("resumes after the newest event, and reads anew only when it began at the present", () => {
    const feed = new OrgFeed();
    expect(feed.resumeAfter()).toBeNull();
    feed.push(caughtUp);
    feed.begin();
    expect(feed.getSnapshot().beginnings).toBe(1);
    feed.push(life[0] as OrgEvent);
    feed.push(caughtUp);
    expect(feed.resumeAfter()).toBe("c1");
    expect(feed.getSnapshot().beginnings).toBe(1);
    feed.flush();
  });

  it("drops what it knew when it could not bridge an outage", () => {
    const feed = new OrgFeed();
    feed.resumeAfter();
    feed.push(caughtUp);
    for (const each of life.slice(0, 3)) feed.push(each);
    feed.flush();
    expect(workingSessions(feed.getSnapshot().org)).toHaveLength(1);
    feed.forgetPosition();
    feed.resumeAfter();
    feed.push(caughtUp);
    feed.flush();
    expect(workingSessions(feed.getSnapshot().org)).toEqual([]);
    expect(feed.getSnapshot().beginnings).toBe(2);
  });
});

it("knows of new sessions which are no trials once they have been read", () => {
  const begun = (sessionId: string) => event("SessionStarted", 1, { sessionId, turnId: null });
  let state = fold(["sess_1", "sess_2", "sess_3"].map(begun));
  const news = (seen: number) => startedSince(state, seen).map(({ id, read }) => [id, read]);
  expect(news(1)).toEqual([
    ["sess_2", false],
    ["sess_3", false],
  ]);
  state = mergeBriefs(state, [brief(1, { id: "sess_2", trial: true }), brief(2, { id: "sess_3" })]);
  expect(news(1)).toEqual([["sess_3", true]]);
  expect(recentSessions(state).map(({ id }) => id)).not.toContain("sess_2");
  expect(news(3)).toEqual([]);
});
