import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionEvent } from "./event";
import { foldEvent } from "./fold";
import { type AgentItem, initialState, type SessionState, type ToolItem } from "./state";
import { event, textMessage, turnWithTool, usage } from "./test/events";

const fold = (events: readonly SessionEvent[], from: SessionState = initialState) =>
  events.reduce(foldEvent, from);
const agent = (state: SessionState, id: string) =>
  state.items.find((item): item is AgentItem => item.kind === "agent" && item.id === id);
const tool = (state: SessionState, id: string) =>
  state.items.find((item): item is ToolItem => item.kind === "tool" && item.id === id);
const output = (offset: number, delta: string, messageId = "msg_1") =>
  event("OutputDelta", 6, { messageId, offset, delta });

describe("a turn with a tool", () => {
  const state = fold(turnWithTool());

  it("becomes messages, cards and a last line, in order", () => {
    expect(state.items.map(({ kind }) => kind)).toEqual([
      "user",
      "agent",
      "tool",
      "agent",
      "notice",
    ]);
    expect(agent(state, "msg_1")).toMatchObject({ thinking: "A file, then.", state: "complete" });
    expect(tool(state, "call_1")).toMatchObject({ state: "succeeded", durationMs: 12 });
  });

  it("leaves the session at rest, with the usage that the server has added up", () => {
    const calls = fold(turnWithTool().slice(0, -1)).usage;
    expect(calls).toMatchObject({ inputTokens: 20, outputTokens: 10, costUsd: "0.002" });
    expect(state).toMatchObject({ status: "IDLE", activeTurnId: null, lastSequence: 20 });
    expect(state.usage).toMatchObject({ inputTokens: 25, costUsd: "0.0025" });
    expect(state.turnCount).toBe(1);
    expect(state.filesVersion).toBe(1);
  });
});

describe("sequences", () => {
  it("ignores a durable event that was seen, and returns the very same state", () => {
    const events = turnWithTool();
    const state = fold(events);
    for (const each of events) expect(foldEvent(state, each)).toBe(state);
  });

  it("gives the same session for any repeats of what was seen", () => {
    const events = turnWithTool();
    const expected = fold(events);
    const withRepeats = fc
      .array(fc.nat({ max: 4 }), { minLength: events.length, maxLength: events.length })
      .map((back) =>
        events.flatMap((each, at) => [...events.slice(at - Math.min(at, back[at] ?? 0), at), each]),
      );
    fc.assert(
      fc.property(withRepeats, (repeated) => {
        expect(fold(repeated)).toEqual(expected);
      }),
    );
  });

  it("gives the same session wherever the stream was cut and resumed", () => {
    const events = turnWithTool();
    fc.assert(
      fc.property(fc.nat({ max: events.length }), (cut) => {
        const before = fold(events.slice(0, cut));
        const resumed = events.filter(({ sequence }) => (sequence ?? 0) > before.lastSequence);
        expect(fold(resumed, before)).toEqual(fold(events));
      }),
    );
  });

  it("does not take the sequence of an ephemeral event for its own", () => {
    const state = fold([output(0, "Hi"), event("CaughtUp", 6, {})]);
    expect(state.lastSequence).toBe(0);
    expect(state.caughtUp).toBe(true);
  });

  it("moves on past kinds that it does not know", () => {
    const unknown = { ...event("ActStarted", 1, {}), __typename: "MoonRose" } as never;
    expect(fold([unknown])).toEqual({ ...initialState, lastSequence: 1 });
  });
});

describe("streamed text", () => {
  const opened = fold([
    event("OutputStarted", 6, { messageId: "msg_1", model: "sim-default", iteration: 1 }),
  ]);

  it("is put together from any pieces, in UTF-16 units", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), (pieces) => {
        let offset = 0;
        const deltas = pieces.map((piece) => {
          const delta = output(offset, piece);
          offset += piece.length;
          return delta;
        });
        expect(agent(fold(deltas, opened), "msg_1")?.text).toBe(pieces.join(""));
      }),
    );
  });

  it("stays the same when a piece comes twice", () => {
    const state = fold([output(0, "Hello "), output(6, "wörld"), output(6, "wörld")], opened);
    expect(agent(state, "msg_1")?.text).toBe("Hello wörld");
  });

  it("begins again at offset 0, as after a takeover or for a late reader", () => {
    const state = fold([output(0, "First try"), output(0, "Second"), output(6, " try")], opened);
    expect(agent(state, "msg_1")?.text).toBe("Second try");
  });

  it("leaves the text alone when the piece before is missing", () => {
    const state = fold([output(0, "abc"), output(7, "xyz")], opened);
    expect(agent(state, "msg_1")?.text).toBe("abc");
  });

  it("is replaced by the completed message, after which pieces that come late change nothing", () => {
    const done = event("OutputCompleted", 7, { message: textMessage("msg_1", "AGENT", "Final") });
    const state = fold([output(0, "Fin"), done, output(0, "Stale")], opened);
    expect(agent(state, "msg_1")).toMatchObject({ text: "Final", state: "complete" });
  });

  it("keeps thinking apart from the text", () => {
    const thinking = event("ThinkingDelta", 6, { messageId: "msg_1", offset: 0, delta: "Hm" });
    expect(agent(fold([thinking], opened), "msg_1")).toMatchObject({ thinkingDone: false });
    const state = fold([thinking, output(0, "So")], opened);
    expect(agent(state, "msg_1")).toMatchObject({ thinking: "Hm", text: "So", thinkingDone: true });
  });
});

describe("a model call that fails", () => {
  const retrying = event("GenerationRetrying", 6, {
    messageId: "msg_1",
    model: "sim-default",
    nextModel: "sim-default",
    code: "provider_rate_limited",
    problem: "The provider limits how often it may be asked.",
    attempt: 1,
    delayMs: 3000,
  });
  const thinking = (delta: string) =>
    event("ThinkingDelta", 6, { messageId: "msg_1", offset: 0, delta });

  it("is told until text or thinking comes, but not only until failed text is taken back", () => {
    const state = fold([retrying, output(0, "")]);
    expect(agent(state, "msg_1")?.retry).toMatchObject({ attempt: 1, delayMs: 3000 });
    expect(agent(fold([output(0, "So")], state), "msg_1")?.retry).toBeNull();
    expect(agent(fold([thinking("Hm")], state), "msg_1")?.retry).toBeNull();
  });

  it("is forgotten with the end of the message or of the turn", () => {
    const done = event("OutputCompleted", 7, { message: textMessage("msg_1", "AGENT", "Hi") });
    expect(agent(fold([retrying, done, retrying]), "msg_1")?.retry).toBeNull();
    const failed = event("TurnFailed", 8, { error: { code: "internal", message: "It broke." } });
    expect(agent(fold([retrying, failed]), "msg_1")?.retry).toBeNull();
  });

  it("does not move the sequence", () => {
    expect(fold([retrying]).lastSequence).toBe(0);
  });

  it("tells of a failure once, when the message carries it too", () => {
    const error = { code: "provider_misconfigured", message: "Check the key." };
    const message = { ...textMessage("msg_1", "AGENT", ""), error };
    const failed = event("TurnFailed", 9, { error });
    const told = (state: SessionState) => state.items.at(-1);
    const both = fold([event("OutputCompleted", 7, { message }), failed]);
    expect(told(both)).toMatchObject({ notice: { type: "failed", told: true } });
    expect(told(fold([failed]))).toMatchObject({ notice: { type: "failed", told: false } });
  });
});

describe("images", () => {
  it("come with the message, and need no text", () => {
    const message = {
      ...textMessage("msg_user", "USER", ""),
      content: [
        {
          __typename: "ImagePart" as const,
          imageId: "img_1",
          mediaType: "image/png",
          url: "/v1/images/img_1",
        },
      ],
    };
    const state = fold([event("MessageReceived", 1, { message })]);
    expect(state.items[0]).toMatchObject({
      text: "",
      images: [{ imageId: "img_1", url: "/v1/images/img_1" }],
    });
  });
});

describe("events before what opens them", () => {
  it("opens a message for its first piece", () => {
    const state = fold([
      output(0, "Early"),
      event("OutputStarted", 6, { messageId: "msg_1", model: "sim-default", iteration: 1 }),
    ]);
    expect(state.items).toHaveLength(1);
    expect(agent(state, "msg_1")).toMatchObject({ text: "Early", model: "sim-default" });
  });

  it("opens a card for progress, and for a result", () => {
    const progress = event("ToolProgress", 3, {
      toolCallId: "call_1",
      toolName: "bash",
      displayName: "Shell",
      progress: "50 %",
    });
    expect(tool(fold([progress]), "call_1")).toMatchObject({ state: "running", progress: "50 %" });
    const failed = event("ToolCompleted", 4, {
      toolCallId: "call_1",
      toolName: "bash",
      success: false,
      result: null,
      toolError: "exit 1",
      durationMs: 3,
      narration: null,
    });
    expect(tool(fold([progress, failed]), "call_1")).toMatchObject({
      state: "failed",
      error: "exit 1",
      progress: null,
    });
  });

  it("says of a denied call that it was denied, and not how long it took", () => {
    const denied = event("ToolCompleted", 3, {
      toolCallId: "call_1",
      toolName: "bash",
      success: false,
      result: null,
      toolError: "denied: The call was not approved, so it did not run.",
      durationMs: 0,
      narration: null,
    });
    expect(tool(fold([denied]), "call_1")).toMatchObject({ state: "denied", durationMs: null });
  });
});

describe("the end of a turn", () => {
  it("closes what is still open", () => {
    const state = fold([
      ...turnWithTool().slice(0, 7),
      output(0, "Half a"),
      event("GenerationRecorded", 8, { messageId: "msg_1", model: "m", usage }),
      event("TurnFailed", 9, {
        occurredAt: "2026-11-20T10:00:02.000Z",
        error: { code: "internal", message: "It broke." },
      }),
    ]);
    expect(agent(state, "msg_1")).toMatchObject({ text: "Half a", state: "interrupted" });
    expect(state.items.at(-1)).toMatchObject({
      kind: "notice",
      notice: { type: "failed", took: { durationMs: 2000, usage } },
    });
    expect(state.activeTurnId).toBeNull();
  });
});

describe("queued turns", () => {
  const queued = fold([
    ...turnWithTool().slice(0, 6),
    event("MessageReceived", 7, {
      turnId: "turn_2",
      message: textMessage("msg_next", "USER", "And then"),
    }),
    event("TurnQueued", 8, { turnId: "turn_2" }),
  ]);

  it("wait in order", () => {
    expect(queued.queuedTurnIds).toEqual(["turn_2"]);
    expect(queued.activeTurnId).toBe("turn_1");
  });

  it("show their message where they begin, after the answer before them", () => {
    const state = fold(
      [
        event("OutputCompleted", 9, { message: textMessage("msg_1", "AGENT", "First answer") }),
        event("TurnCompleted", 10, {
          stopReason: "END_TURN",
          iterations: 1,
          toolCalls: 0,
          durationMs: 1,
          timeToFirstTokenMs: null,
          usage,
        }),
        event("TurnStarted", 11, { turnId: "turn_2", inputMessageId: "msg_next" }),
      ],
      queued,
    );
    expect(state.queuedTurnIds).toEqual([]);
    expect(state.activeTurnId).toBe("turn_2");
    expect(state.items.map(({ id }) => id).slice(-2)).toEqual(["evt_TurnCompleted_10", "msg_next"]);
  });
});

describe("cost", () => {
  it("is unknown for good once a part of it has no price", () => {
    const priceless = event("GenerationRecorded", 1, {
      messageId: "msg_1",
      model: "m",
      usage: { ...usage, costUsd: null },
      durationMs: 1,
      timeToFirstTokenMs: null,
      finishReason: "stop",
    });
    expect(fold([priceless]).usage.costUsd).toBeNull();
  });
});

describe("a conversation that is too long for the model", () => {
  const compacted = (sequence: number, throughSequence: number) =>
    event("ContextCompacted", sequence, { fromSequence: 1, throughSequence });
  const marks = (events: SessionEvent[]) =>
    fold([...turnWithTool(), ...events]).items.flatMap((item) =>
      item.kind === "notice" && item.notice.type === "compacted" ? [item.notice.complete] : [],
    );

  it("is marked once where it begins to be, and where it is no more", () => {
    expect(marks([])).toEqual([]);
    expect(marks([compacted(21, 8)])).toEqual([false]);
    expect(marks([compacted(21, 8), compacted(30, 17)])).toEqual([false]);
    const wider = [compacted(21, 8), compacted(30, 0), compacted(40, 20)];
    expect(marks(wider)).toEqual([false, true, false]);
  });
});
