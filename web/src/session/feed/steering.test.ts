import { describe, expect, it } from "vitest";
import type { SessionEvent } from "./event";
import { foldEvent } from "./fold";
import { initialState, type NoticeItem, type SessionState } from "./state";
import { event, textMessage, turnWithTool, usage } from "./test/events";
import { waitIsOver } from "./waits";

const fold = (events: readonly SessionEvent[], from: SessionState = initialState) =>
  events.reduce(foldEvent, from);
const notices = (state: SessionState) =>
  state.items.filter((item): item is NoticeItem => item.kind === "notice");
const ids = (state: SessionState) => state.items.map(({ id }) => id);

let sequence = 100;
const next = () => {
  sequence += 1;
  return sequence;
};
const received = (id: string, turnId: string, delivery = "QUEUE") =>
  event("MessageReceived", next(), {
    turnId,
    message: textMessage(id, "USER", id),
    data: { delivery },
  });
const queue = (turnId: string, delivery?: string) => [
  received(`msg_${turnId}`, turnId, delivery),
  event("TurnQueued", next(), { turnId }),
];

const working = fold(turnWithTool().slice(0, 6));

describe("the queue", () => {
  const queued = fold([...queue("turn_2"), ...queue("turn_3"), ...queue("turn_4")], working);

  it("takes a turn that interrupts before the others", () => {
    const state = fold(queue("turn_5", "INTERRUPT"), queued);
    expect(state.queuedTurnIds).toEqual(["turn_5", "turn_2", "turn_3", "turn_4"]);
  });

  it("is put into the order that the event names", () => {
    const turnIds = ["turn_4", "turn_2", "turn_3"];
    expect(fold([event("QueueReordered", next(), { turnIds })], queued).queuedTurnIds).toEqual(
      turnIds,
    );
    const short = fold([event("QueueReordered", next(), { turnIds: ["turn_3"] })], queued);
    expect(short.queuedTurnIds).toEqual(["turn_3", "turn_2", "turn_4"]);
  });

  it("forgets a turn that was cancelled in it, with its message and without a word", () => {
    const state = fold([event("TurnCancelled", next(), { turnId: "turn_3" })], queued);
    expect(state.queuedTurnIds).toEqual(["turn_2", "turn_4"]);
    expect(ids(state)).not.toContain("msg_turn_3");
    expect(notices(state)).toEqual(notices(queued));
    expect(state.activeTurnId).toBe("turn_1");
  });

  it("shows a message as it was edited", () => {
    const message = textMessage("msg_turn_2", "USER", "Better");
    const state = fold([event("MessageEdited", next(), { turnId: "turn_2", message })], queued);
    expect(state.items.find(({ id }) => id === "msg_turn_2")).toMatchObject({ text: "Better" });
  });
});

describe("a turn that is cancelled", () => {
  it("keeps what was said, and tells who cancelled it and why", () => {
    const state = fold(
      [
        event("OutputCompleted", next(), {
          message: { ...textMessage("msg_1", "AGENT", "Half an"), interrupted: true },
        }),
        // The provider was paid for half an answer, too.
        event("GenerationRecorded", next(), { messageId: "msg_1", model: "m", usage }),
        event("TurnCancelled", next(), {
          cancelReason: "Wrong file",
          data: { byKind: "USER", byId: "user_1" },
        }),
      ],
      working,
    );
    expect(state.items.find(({ id }) => id === "msg_1")).toMatchObject({
      text: "Half an",
      state: "interrupted",
    });
    expect(notices(state).at(-1)?.notice).toEqual({
      type: "cancelled",
      reason: "Wrong file",
      by: { kind: "USER", id: "user_1" },
      took: { durationMs: 0, usage },
    });
    expect(state.turns.turn_1?.status).toBe("cancelled");
    expect(state.activeTurnId).toBeNull();
  });
});

describe("waits", () => {
  const waiting = fold(
    [
      event("ApprovalRequested", next(), { waitId: "wait_1", toolCallId: "call_1" }),
      event("TurnWaiting", next(), { waits: [] }),
      event("SessionWaiting", next(), {}),
    ],
    working,
  );
  const wait = { id: "wait_1", toolCallId: "call_1", turn: { id: "turn_1" } };
  const decided = (outcome: string, own: { note?: string; newArguments?: unknown } = {}) =>
    event("ApprovalDecided", next(), {
      waitId: "wait_1",
      toolName: "write_file",
      outcome,
      approve: outcome !== "DENIED",
      note: own.note ?? null,
      newArguments: own.newArguments ?? null,
      data: { byKind: "USER", byId: "user_1" },
    });

  it("make the session wait, and are to be read anew", () => {
    expect(waiting.status).toBe("WAITING");
    expect(waiting.turns.turn_1?.status).toBe("waiting");
    expect(waiting.waitsVersion).toBeGreaterThan(working.waitsVersion);
    const resumed = fold(
      [event("SessionResumed", next(), {}), event("TurnResumed", next(), {})],
      waiting,
    );
    expect(resumed).toMatchObject({ status: "ACTIVE", turns: { turn_1: { status: "running" } } });
    expect(resumed.waitsVersion).toBeGreaterThan(waiting.waitsVersion);
  });

  it("are over once people have decided, but not while more of them have to", () => {
    expect(waitIsOver(waiting, wait)).toBe(false);
    expect(waitIsOver(fold([decided("PENDING")], waiting), wait)).toBe(false);
    for (const outcome of ["APPROVED", "DENIED", "EXPIRED", "CANCELLED"]) {
      expect(waitIsOver(fold([decided(outcome)], waiting), wait)).toBe(true);
    }
  });

  it("leave a line that tells what was decided", () => {
    const state = fold([decided("DENIED", { note: "No" })], waiting);
    expect(notices(state).at(-1)?.notice).toMatchObject({
      type: "decided",
      outcome: "DENIED",
      note: "No",
      edited: false,
      by: { id: "user_1" },
    });
    const edited = fold([decided("APPROVED", { newArguments: {} })], waiting);
    expect(notices(edited).at(-1)?.notice).toMatchObject({ edited: true });
  });

  it("are over with their call, and with their turn", () => {
    const started = event("ToolStarted", next(), { toolCallId: "call_1", toolName: "ask_user" });
    const completed = event("ToolCompleted", next(), { toolCallId: "call_1", success: true });
    expect(waitIsOver(fold([started], waiting), wait)).toBe(false);
    expect(waitIsOver(fold([started, completed], waiting), wait)).toBe(true);
    expect(waitIsOver(fold([event("TurnCancelled", next(), {})], waiting), wait)).toBe(true);
  });
});

describe("a fork", () => {
  const forkHere = (from = "sess_old") =>
    event("SessionStarted", next(), {
      turnId: null,
      forkedFromId: from,
      data: { title: "A fork" },
    });

  it("begins with the history, and drops what the original had still to do", () => {
    const state = fold([
      ...turnWithTool().slice(0, 18),
      received("msg_steered", "turn_1", "STEER"),
      ...queue("turn_2"),
      event("TurnCompleted", next(), { stopReason: "END_TURN" }),
      forkHere(),
    ]);
    expect(ids(state)).toContain("msg_user");
    expect(ids(state)).not.toContain("msg_steered");
    expect(ids(state)).not.toContain("msg_turn_2");
    expect(state).toMatchObject({
      status: "STARTED",
      title: "A fork",
      activeTurnId: null,
      queuedTurnIds: [],
      undelivered: [],
      usage: { inputTokens: 0, costUsd: "0" },
    });
    expect(state.turns).not.toHaveProperty("turn_2");
    expect(notices(state).at(-1)?.notice).toEqual({ type: "forked", fromSessionId: "sess_old" });
  });

  it("keeps a steered message that the model was asked about", () => {
    const state = fold([
      ...turnWithTool().slice(0, 15),
      received("msg_steered", "turn_1", "STEER"),
      event("ReasonStarted", next(), { iteration: 2 }),
      event("TurnCompleted", next(), { stopReason: "END_TURN" }),
      forkHere(),
    ]);
    expect(ids(state)).toContain("msg_steered");
  });

  it("keeps the message of a turn that was cancelled before the model was asked", () => {
    const state = fold([
      ...turnWithTool().slice(0, 4),
      event("TurnCancelled", next(), {}),
      forkHere(),
    ]);
    expect(ids(state)).toContain("msg_user");
  });

  it("has no history to tell of when it ends before the first turn", () => {
    expect(fold([forkHere()]).items).toEqual([]);
  });

  it("knows in which session each turn of its history ran, through forks of forks", () => {
    const turn = (turnId: string) => [
      event("TurnStarted", next(), { turnId, inputMessageId: "none" }),
      event("TurnCompleted", next(), { turnId, stopReason: "END_TURN" }),
    ];
    const state = fold([
      ...turn("turn_1"),
      forkHere("sess_first"),
      ...turn("turn_2"),
      forkHere("sess_second"),
      ...turn("turn_3"),
    ]);
    expect(Object.values(state.turns).map(({ sessionId }) => sessionId)).toEqual([
      "sess_first",
      "sess_second",
      null,
    ]);
  });
});
