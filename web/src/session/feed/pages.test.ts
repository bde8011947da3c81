import fc from "fast-check";
import { expect, it } from "vitest";
import type { EventOf, SessionEvent } from "./event";
import { SessionFeed } from "./feed";
import { foldEvent } from "./fold";
import type { SessionNow } from "./history";
import { initialState } from "./state";
import { event, textMessage, usage } from "./test/events";

type Ending = "TurnCompleted" | "TurnFailed" | "TurnCancelled";

interface Plan {
  calls: number;
  ending: Ending;
  /** The next turn's message comes while this one runs. */
  queuesNext: boolean;
  waits: boolean;
}

/** The log of a session with these turns, one after the other. */
function logOf(plans: readonly Plan[]): SessionEvent[] {
  const log: SessionEvent[] = [];
  const add: typeof event = (name, _, own) => {
    const added = event(name, log.length + 1, own);
    log.push(added);
    return added;
  };
  const receive = (turnId: string) =>
    add("MessageReceived", 0, { turnId, message: textMessage(`in_${turnId}`, "USER", turnId) });
  add("SessionStarted", 0, { turnId: null });
  plans.forEach(({ calls, ending, queuesNext, waits }, index) => {
    const turnId = `turn_${index}`;
    if (!plans[index - 1]?.queuesNext) {
      receive(turnId);
      add("SessionActivated", 0, { turnId });
    }
    add("TurnStarted", 0, { turnId, inputMessageId: `in_${turnId}` });
    if (queuesNext && index + 1 < plans.length) {
      receive(`turn_${index + 1}`);
      add("TurnQueued", 0, { turnId: `turn_${index + 1}` });
    }
    for (let step = 0; step <= calls; step += 1) {
      const messageId = `out_${index}_${step}`;
      add("ReasonStarted", 0, { turnId, iteration: step + 1 });
      add("OutputStarted", 0, { turnId, messageId, model: "sim", iteration: step + 1 });
      add("OutputCompleted", 0, { turnId, message: textMessage(messageId, "AGENT", messageId) });
      add("GenerationRecorded", 0, { turnId, messageId, model: "sim", usage });
      if (step === calls) break;
      const call = { turnId, toolCallId: `call_${index}_${step}`, toolName: "write_file" };
      add("ToolStarted", 0, { ...call, displayName: "Write file", arguments: {}, narration: null });
      if (waits) {
        add("TurnWaiting", 0, { turnId, waits: [] });
        add("SessionWaiting", 0, { turnId });
        add("TurnResumed", 0, { turnId });
        add("SessionResumed", 0, { turnId });
      }
      const done = { success: true, result: {}, toolError: null, durationMs: 1, narration: null };
      add("ToolCompleted", 0, { ...call, ...done });
    }
    if (ending === "TurnCompleted") add(ending, 0, { turnId, stopReason: "END_TURN", usage });
    else if (ending === "TurnFailed")
      add(ending, 0, { turnId, error: { code: "provider_error", message: "It failed." } });
    else add(ending, 0, { turnId, cancelReason: null });
    if (!queuesNext || index + 1 === plans.length) add("SessionIdled", 0, { turnId, usage });
  });
  return log;
}

const fold = (log: readonly SessionEvent[]) => log.reduce(foldEvent, initialState);

function pageBefore(log: readonly SessionEvent[], size: number, before: number) {
  const older = log.slice(0, before - 1);
  const nodes = older.slice(-size);
  const startCursor = String(nodes[0]?.sequence);
  return { nodes, pageInfo: { hasPreviousPage: nodes.length < older.length, startCursor } };
}

/** What the server answers who opens the session at the end of this log. */
function nowOf(log: readonly SessionEvent[], size: number): SessionNow {
  const whole = fold(log);
  const input = (turnId: string) => {
    const received = log.find(
      (each): each is EventOf<"MessageReceived"> =>
        each.__typename === "MessageReceived" && each.turnId === turnId,
    );
    return { id: turnId, queuedAt: received?.occurredAt, inputMessage: received?.message };
  };
  return {
    id: "sess_1",
    lastSequence: whole.lastSequence,
    status: whole.status,
    title: null,
    usage: whole.usage,
    turns: { totalCount: whole.turnCount },
    activeTurn: whole.activeTurnId === null ? null : { id: whole.activeTurnId },
    queuedTurns: whole.queuedTurnIds.map(input),
    events: pageBefore(log, size, log.length + 1),
  } as unknown as SessionNow;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  calls: fc.integer({ min: 0, max: 2 }),
  ending: fc.constantFrom<Ending>("TurnCompleted", "TurnFailed", "TurnCancelled"),
  queuesNext: fc.boolean(),
  waits: fc.boolean(),
});

it("shows the same session, wherever it is opened, cut into pages and read on", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.boolean(), { maxLength: 30 }),
      async (plans, opening, size, loads) => {
        const log = logOf(plans);
        const opened = 1 + (opening % log.length);
        const feed = new SessionFeed(async (before) => pageBefore(log, size, Number(before)));
        feed.open(nowOf(log.slice(0, opened), size));
        for (const [index, next] of log.slice(opened).entries()) {
          if (loads[index]) await feed.loadEarlier();
          feed.push(next);
        }
        feed.flush();
        await feed.loadEarlier(true);
        const { session, log: read } = feed.getSnapshot();
        const whole = fold(log);
        expect(read).toEqual(log);
        expect(session.items).toEqual(whole.items);
        expect(session.turns).toEqual(whole.turns);
        expect(session).toMatchObject({
          lastSequence: whole.lastSequence,
          status: whole.status,
          activeTurnId: whole.activeTurnId,
          queuedTurnIds: whole.queuedTurnIds,
          undelivered: whole.undelivered,
          turnCount: whole.turnCount,
          usage: whole.usage,
        });
      },
    ),
    { numRuns: 300 },
  );
});
