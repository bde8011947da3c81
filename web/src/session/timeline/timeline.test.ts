import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration } from "@/ui/format";
import type { SessionEvent } from "../feed/event";
import { event, textMessage, turnWithTool, usage } from "../feed/test/events";
import { timelineOf } from "./foldTimeline";
import type { TimelineTurn } from "./model";
import { rowsOf } from "./rows";
import { scalesOf, timeWords } from "./scale";
import { markBadges, tookWords } from "./words";

const BEGIN = Date.parse("2026-11-20T10:00:00.000Z");
const at = (ms: number) => ({ occurredAt: new Date(BEGIN + ms).toISOString() });

const begun: SessionEvent[] = [
  event("MessageReceived", 0, { message: textMessage("msg_user", "USER", "Write a\n file") }),
  event("TurnQueued", 1, at(0)),
  event("TurnStarted", 2, { ...at(100), inputMessageId: "msg_user" }),
  event("ReasonStarted", 3, { ...at(110), iteration: 1 }),
];
const called = event("GenerationRecorded", 4, {
  ...at(1000),
  model: "sim-default",
  durationMs: 800,
  timeToFirstTokenMs: 300,
  retries: 2,
  estimated: false,
  usage,
});
const acting: SessionEvent[] = [
  ...begun,
  called,
  event("ReasonCompleted", 5, { ...at(1010), iteration: 1, success: true }),
  event("ActStarted", 6, { ...at(1020), iteration: 1 }),
];

function only(log: readonly SessionEvent[]): TimelineTurn {
  const turns = timelineOf(log);
  expect(turns).toHaveLength(1);
  return turns[0] as TimelineTurn;
}
const span = (turn: TimelineTurn, label: string | RegExp) =>
  turn.spans.find((each) =>
    typeof label === "string" ? each.label === label : label.test(each.label),
  );

describe("a turn", () => {
  it("is one span for each call of a model or a tool", () => {
    const turn = only(turnWithTool().map((each, index) => ({ ...each, ...at(index * 100) })));
    expect(turn.status).toBe("completed");
    expect(turn.spans.map(({ kind }) => kind)).toEqual(["model", "tool"]);
    expect(turn.usage).toMatchObject({ inputTokens: 20, costUsd: "0.002", firstTokenMs: 300 });
    expect(turn.spans.every(({ end }) => end !== null)).toBe(true);
  });

  it("knows when it was queued, what it was asked, and when its model call began", () => {
    const turn = only([...begun, called]);
    expect(turn).toMatchObject({ queuedAt: BEGIN, start: BEGIN + 100, preview: "Write a file" });
    expect(span(turn, "Model call")).toMatchObject({
      detail: "sim-default",
      iteration: 1,
      // From the step's beginning on, with the calls that failed before: 90 ms, and 300 of the call.
      start: BEGIN + 110,
      usage: { firstTokenMs: 390, estimated: false },
      marks: [{ kind: "retry", words: "2 earlier calls failed" }],
    });
  });

  it("is not there when it was cancelled in the queue", () => {
    expect(timelineOf([event("TurnQueued", 1, {}), event("TurnCancelled", 2, {})])).toEqual([]);
  });
});

it("leaves out kinds that the dashboard does not know", () => {
  const unknown = { ...event("ActStarted", 7, at(1030)), __typename: "MoonRose" } as never;
  expect(timelineOf([...acting, unknown])).toEqual(timelineOf(acting));
});

describe("what goes wrong", () => {
  it("marks a takeover, and the usage of the lost call as an estimate", () => {
    const turn = only([
      ...begun,
      event("ReasonRecovered", 4, { ...at(900), iteration: 1, policy: "RESTART", recoveries: 1 }),
      { ...called, finishReason: "interrupted", estimated: true, retries: 0 } as SessionEvent,
    ]);
    expect(span(turn, "Model call")).toMatchObject({
      state: "open",
      usage: { estimated: true },
      marks: [{ kind: "recovered" }],
    });
    expect(turn.usage.estimated).toBe(true);
  });

  it("ends all that is open with a cancel, and marks it", () => {
    const turn = only([
      ...acting,
      event("ToolStarted", 7, { ...at(1100), toolCallId: "call_1", displayName: "Shell" }),
      event("TurnCancelled", 8, { ...at(2000), cancelReason: "Enough" }),
    ]);
    expect(turn).toMatchObject({ status: "cancelled", end: BEGIN + 2000 });
    expect(span(turn, "Shell")).toMatchObject({
      state: "interrupted",
      end: BEGIN + 2000,
      marks: [{ kind: "cancelled", words: "Cancelled: Enough" }],
    });
  });

  it("says why a call of a model and its turn failed", () => {
    const error = { code: "provider_misconfigured", message: "The key was refused." };
    const answer = { ...textMessage("msg_1", "AGENT", ""), error };
    const ended = [
      event("ReasonCompleted", 5, { ...at(900), iteration: 1, success: false }),
      event("TurnFailed", 6, { ...at(900), error }),
    ];
    const told = event("OutputCompleted", 4, { ...at(900), message: answer });
    for (const log of [
      [...begun, told, ...ended],
      [...begun, ...ended],
    ]) {
      const turn = only(log);
      expect(turn.failure).toEqual(error);
      expect(span(turn, "Model call")).toMatchObject({ state: "failed", failure: error });
    }
    // What ends the turn after a call that succeeded is not the failure of that call.
    const late = only([...acting, event("TurnFailed", 7, { ...at(1100), error })]);
    expect(late.failure).toEqual(error);
    expect(span(late, "Model call")?.failure).toBeNull();
  });

  it("does not call a failure what somebody has interrupted", () => {
    const turn = only([
      ...begun,
      event("OutputCompleted", 4, { ...at(900), message: textMessage("msg_1", "AGENT", "So") }),
      event("ReasonCompleted", 5, { ...at(900), iteration: 1, success: false }),
      event("TurnCancelled", 6, { ...at(900), cancelReason: "Another message interrupted." }),
    ]);
    expect(turn.spans.map(({ state }) => state)).toEqual(["interrupted"]);
    expect(turn.status).toBe("cancelled");
    // The turn's status says it; the mark holds the reason.
    expect(markBadges(turn.marks)).toEqual([]);
    expect(turn.marks).toMatchObject([{ words: "Cancelled: Another message interrupted." }]);
  });

  it("has a span for each hook, which ends when it is told of", () => {
    const hook = (sequence: number, hookCallId: string | null) =>
      event("HookRan", sequence, {
        ...at(1200),
        hookId: "user_hooks:0",
        event: "pre_tool_use",
        decision: "block",
        hookReason: "No",
        hookError: null,
        hookCallId,
        durationMs: 40,
      });
    const turn = only([
      ...acting,
      event("ToolStarted", 7, { ...at(1100), toolCallId: "call_1", displayName: "Shell" }),
      event("ToolStarted", 8, { ...at(1100), toolCallId: "call_2", displayName: "Other" }),
      hook(9, "call_1"),
      event("ToolCompleted", 10, {
        ...at(1300),
        toolCallId: "call_1",
        success: false,
        durationMs: 198,
      }),
      event("ToolCompleted", 11, {
        ...at(1300),
        toolCallId: "call_2",
        success: true,
        durationMs: 200,
      }),
      hook(12, null),
    ]);
    expect(span(turn, "Shell")).toMatchObject({
      state: "failed",
      // What the tool took, as the chat says, and not when it was stored.
      end: BEGIN + 1298,
    });
    expect(turn.spans.filter(({ kind }) => kind === "hook")).toHaveLength(2);
    expect(span(turn, "Hook user_hooks:0")).toMatchObject({
      detail: "pre_tool_use · block: No",
      start: BEGIN + 1160,
      end: BEGIN + 1200,
      state: "ok",
    });
  });
});

describe("waits", () => {
  const waiting: SessionEvent[] = [
    ...acting,
    event("ApprovalRequested", 7, { ...at(1020), waitId: "wait_1", displayName: "Shell" }),
    event("TurnWaiting", 8, {
      ...at(1030),
      waits: [
        { id: "wait_1", kind: "APPROVAL", toolCallId: "call_1", toolName: "bash", question: null },
      ],
    }),
  ];

  it("are open until the turn goes on, and tell for whom it waits", () => {
    const turn = only(waiting);
    expect(turn.status).toBe("waiting");
    expect(turn.spans.filter(({ kind }) => kind === "wait" || kind === "approval")).toMatchObject([
      { label: "Waiting for approval of Shell", kind: "approval", end: null },
    ]);
    expect(turn.waits).toEqual([{ start: BEGIN + 1030, end: null }]);
    const resumed = only([
      ...waiting,
      event("ApprovalDecided", 9, { ...at(5000), waitId: "wait_1", outcome: "DENIED", note: "No" }),
      event("TurnResumed", 10, at(5000)),
    ]);
    expect(resumed.status).toBe("running");
    expect(resumed.waits).toEqual([{ start: BEGIN + 1030, end: BEGIN + 5000 }]);
    expect(span(resumed, /^Waiting/)).toMatchObject({
      state: "denied",
      end: BEGIN + 5000,
      marks: [{ words: "Denied: No" }],
    });
  });

  it("leave a denied call that took no time", () => {
    const call = { ...at(5000), toolCallId: "call_1" };
    const turn = only([
      ...waiting,
      event("ApprovalDecided", 9, { ...at(5000), waitId: "wait_1", outcome: "DENIED", note: "" }),
      event("TurnResumed", 10, at(5000)),
      event("ToolStarted", 11, { ...call, displayName: "Shell" }),
      event("ToolCompleted", 12, {
        ...call,
        success: false,
        toolError: "denied: The call was not approved, so it did not run.",
        durationMs: 0,
      }),
    ]);
    const denied = span(turn, "Shell");
    expect(denied?.state).toBe("denied");
    expect(denied && tookWords(denied, BEGIN)).toBe("");
  });

  it("stay open while more people have to approve", () => {
    const turn = only([
      ...waiting,
      event("ApprovalDecided", 9, { ...at(2000), waitId: "wait_1", outcome: "PENDING", note: "" }),
    ]);
    expect(span(turn, /^Waiting/)).toMatchObject({ state: "open", end: null });
  });
});

describe("the lines", () => {
  const turn = only([
    ...acting,
    event("ToolStarted", 7, { ...at(1100), toolCallId: "call_1", displayName: "Shell" }),
    event("ToolCompleted", 8, {
      ...at(8000),
      toolCallId: "call_1",
      success: false,
      toolError: "not_found: No.",
      durationMs: 6000,
    }),
    event("TurnCancelled", 9, at(9000)),
  ]);
  const labels = (
    ...of: Parameters<typeof rowsOf> extends [unknown, unknown, ...infer R] ? R : []
  ) => rowsOf([turn], BEGIN + 9000, ...of).map((row) => row.span?.label ?? "turn");

  it("are a turn and its calls", () => {
    expect(labels()).toEqual(["turn", "Model call", "Shell"]);
    expect(labels({}, new Set(["turn_1"]))).toEqual(["turn"]);
  });

  it("are filtered by kind, failure and time, and a turn without any is left out", () => {
    expect(labels({ kind: "tool" })).toEqual(["turn", "Shell"]);
    expect(labels({ only: "failed" })).toEqual(["turn", "Shell"]);
    expect(labels({ only: "slow" })).toEqual(["turn", "Shell"]);
    expect(labels({ kind: "model", only: "failed" })).toEqual([]);
    expect(labels({ kind: "hook" })).toEqual([]);
  });
});

describe("a fork", () => {
  it("shows the turns of its history as such", () => {
    const turns = timelineOf([
      ...turnWithTool(),
      event("SessionStarted", 30, { turnId: null, forkedFromId: "sess_1" }),
      event("TurnStarted", 31, { turnId: "turn_2", inputMessageId: "msg_none" }),
    ]);
    expect(turns.map(({ number, inherited }) => [number, inherited])).toEqual([
      [1, true],
      [2, false],
    ]);
  });
});

describe("the scale", () => {
  const turn = (id: string, end: number, waits: [number, number][] = []): TimelineTurn => ({
    ...only(begun),
    id,
    start: 0,
    end,
    waits: waits.map(([from, to]) => ({ start: from, end: to })),
  });
  const scaleOf = (id: string, ...turns: TimelineTurn[]) => {
    const scale = scalesOf(turns, 0).of(id);
    if (!scale) throw new Error(`no scale of ${id}`);
    return scale;
  };

  it("is the same for all turns: one that took a tenth of the time is a tenth as long", () => {
    const scale = scaleOf("short", turn("long", 1000), turn("short", 100));
    expect(scale.at(100)).toBeCloseTo(0.1);
    expect(scale.breaks).toEqual([]);
  });

  it("has ticks at round times, which say the same in each turn", () => {
    const { ticks } = scaleOf("long", turn("long", 5700), turn("short", 31));
    expect(ticks.map(({ ms }) => ms)).toEqual([0, 1000, 2000, 3000, 4000, 5000]);
    expect(ticks[1]?.at).toBeCloseTo(1000 / 5700);
    expect(scaleOf("short", turn("long", 5700), turn("short", 31)).ticks).toHaveLength(1);
  });

  it("breaks at a long wait, and goes on with the time that it really was", () => {
    const { at, breaks, ticks } = scaleOf("t", turn("t", 23_000, [[2000, 21_000]]));
    expect(breaks).toMatchObject([{ start: 2000, ms: 19_000 }]);
    // Four seconds of work, and one for the wait.
    expect(at(2000)).toBeCloseTo(0.4);
    expect(at(21_000)).toBeCloseTo(0.6);
    expect(breaks[0]?.at).toBeCloseTo(0.5);
    expect(ticks.map(({ ms }) => ms)).toEqual([0, 1000, 21_000, 22_000]);
  });

  it("leaves waits alone that are no longer than the work makes them", () => {
    const { at, breaks } = scaleOf("t", turn("t", 1000, [[100, 200]]));
    expect(breaks).toEqual([]);
    expect(at(250)).toBeCloseTo(0.25);
  });

  it("shows a part of the axis, with ticks for it", () => {
    const scales = scalesOf([turn("t", 23_000, [[2000, 21_000]]), turn("short", 100)], 0);
    expect(scales.axis).toBe(5000);
    const scale = scales.of("t", { from: 1000, to: 2000 });
    expect(scale?.at(1500)).toBeCloseTo(0.5);
    expect(scale?.at(500)).toBeCloseTo(-0.5);
    // The wait begins at 2000 of the axis, and the work goes on behind it.
    expect(scale?.at(21_000)).toBeCloseTo(2);
    expect(scale?.ticks.map(({ ms }) => ms)).toEqual([1000, 1200, 1400, 1600, 1800]);
    const late = scales.of("t", { from: 3000, to: 4000 });
    expect(late?.ticks.map(({ ms }) => ms)).toEqual([21_000, 21_200, 21_400, 21_600, 21_800]);
    expect(scales.of("short", { from: 1000, to: 2000 })?.ticks).toEqual([]);
  });

  it("has words as precise as its ticks are close", () => {
    expect(timeWords(0, 100)).toBe("0");
    expect(timeWords(1312, 2)).toBe("1.312 s");
    expect(timeWords(1312, 10)).toBe("1.31 s");
    expect(timeWords(61_300, 100)).toBe("61.3 s");
    expect(timeWords(2000, 1000)).toBe(formatDuration(2000));
  });

  it("runs from 0 to the end and never back, with no more ticks than have room", () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 8 });
    fc.assert(
      fc.property(cuts, fc.integer({ min: 0, max: 10_000_000 }), (points, end) => {
        const sorted = points.toSorted((left, right) => left - right);
        const waits: [number, number][] = [];
        for (let i = 0; i + 1 < sorted.length; i += 2) {
          waits.push([sorted[i] ?? 0, sorted[i + 1] ?? 0]);
        }
        const { at, ticks } = scaleOf("t", turn("t", end, waits));
        let before = at(-5);
        expect(before).toBe(0);
        for (let time = 0; time <= end; time += Math.max(1, Math.floor(end / 50))) {
          const here = at(time);
          expect(here).toBeGreaterThanOrEqual(before - 1e-9);
          before = here;
        }
        expect(at(end + 5)).toBeCloseTo(1);
        expect(ticks.length).toBeLessThan(20);
        for (const { ms, at: place } of ticks) expect(at(ms)).toBeCloseTo(place);
      }),
    );
  });
});
