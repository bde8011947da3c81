import { describe, expect, it } from "vitest";
import type { SessionEvent } from "./event";
import { SessionFeed } from "./feed";
import { foldEvent } from "./fold";
import { openSession, type SessionNow, withPast } from "./history";
import { initialState } from "./state";
import { event, textMessage, turnWithTool, usage } from "./test/events";

const fold = (events: readonly SessionEvent[]) => events.reduce(foldEvent, initialState);

/** What a server would answer whose log has these events, in pages of a few. */
function now(log: readonly SessionEvent[], size: number, own: Partial<SessionNow> = {}) {
  const whole = fold(log);
  return {
    id: "sess_1",
    lastSequence: whole.lastSequence,
    status: whole.status ?? "STARTED",
    title: "Notes",
    usage: whole.usage,
    turns: { totalCount: whole.turnCount },
    activeTurn: whole.activeTurnId === null ? null : { id: whole.activeTurnId },
    queuedTurns: [],
    events: page(log, size),
    ...own,
  } as SessionNow;
}

function page(log: readonly SessionEvent[], size: number, before = Number.POSITIVE_INFINITY) {
  const older = log.filter(({ sequence }) => (sequence ?? 0) < before);
  const nodes = older.slice(-size);
  return {
    nodes,
    pageInfo: {
      hasPreviousPage: nodes.length < older.length,
      startCursor: String(nodes[0]?.sequence),
    },
  };
}

const log = turnWithTool();

describe("a session that is opened at its end", () => {
  it("stands as if all of it had been read, wherever the page begins", () => {
    for (let through = 1; through <= log.length; through += 1) {
      const read = log.slice(0, through);
      const whole = fold(read);
      for (let size = 1; size <= through; size += 1) {
        const opened = openSession(now(read, size));
        expect(opened).toMatchObject({
          lastSequence: whole.lastSequence,
          caughtUp: true,
          activeTurnId: whole.activeTurnId,
          usage: whole.usage,
          turnCount: whole.turnCount,
        });
      }
    }
  });

  it("never says that a session at rest is at work", () => {
    expect(openSession(now(log, 1)).status).toBe("IDLE");
  });

  it("folds what came between the session and its events", () => {
    const early = now(log, 5, { lastSequence: 18, status: "ACTIVE" });
    expect(openSession(early)).toMatchObject({ status: "IDLE", lastSequence: 20 });
  });

  it("shows messages that were queued before the page", () => {
    const queued = {
      id: "turn_2",
      queuedAt: "2026-11-20T10:00:00.000Z",
      inputMessage: { ...textMessage("msg_q", "USER", "And then?"), __typename: "Message" },
    };
    const opened = openSession(
      now(log.slice(0, 12), 2, { queuedTurns: [queued] as unknown as SessionNow["queuedTurns"] }),
    );
    expect(opened.queuedTurnIds).toEqual(["turn_2"]);
    expect(opened.items.at(-1)).toMatchObject({ id: "msg_q", text: "And then?" });
    const begun = foldEvent(
      opened,
      event("TurnStarted", 13, { turnId: "turn_2", inputMessageId: "msg_q" }),
    );
    expect(begun.queuedTurnIds).toEqual([]);
    expect(begun.turnCount).toBe(opened.turnCount);
  });
});

describe("the past", () => {
  it("makes the same chat as one reading of all, wherever the pages are cut", () => {
    const whole = fold(log);
    for (let size = 1; size <= log.length; size += 1) {
      const past = withPast(openSession(now(log, size)), log);
      expect(past.items).toEqual(whole.items);
      expect(past.turns).toEqual(whole.turns);
      expect(past).toMatchObject({ usage: whole.usage, status: "IDLE", title: "Notes" });
    }
  });

  it("takes nothing from an answer that is under way", () => {
    const read = log.slice(0, 6);
    const live = foldEvent(
      openSession(now(read, 2)),
      event("OutputDelta", 6, { messageId: "msg_1", offset: 0, delta: "I will" }),
    );
    expect(withPast(live, read).items.at(-1)).toMatchObject({ state: "streaming", text: "I will" });
  });

  it("is read page by page, or to its beginning", async () => {
    const asked: string[] = [];
    const feed = new SessionFeed(async (before) => {
      asked.push(before);
      return page(log, 6, Number(before));
    });
    feed.open(now(log, 6));
    expect(feed.getSnapshot()).toMatchObject({ earlier: "15" });
    // Two that ask at once get one page.
    await Promise.all([feed.loadEarlier(), feed.loadEarlier()]);
    expect(feed.getSnapshot()).toMatchObject({ earlier: "9" });
    await feed.loadEarlier(true);
    expect(feed.getSnapshot().log).toEqual(log);
    expect(feed.getSnapshot().earlier).toBeNull();
    expect(asked).toEqual(["15", "9", "3"]);
    expect(feed.getSnapshot().session.items).toEqual(fold(log).items);
  });

  it("is asked for again after a page that could not be read", async () => {
    let reachable = false;
    const feed = new SessionFeed(async (before) =>
      reachable ? page(log, 6, Number(before)) : null,
    );
    feed.open(now(log, 6));
    await feed.loadEarlier();
    expect(feed.getSnapshot().earlier).toBe("15");
    reachable = true;
    await feed.loadEarlier(true);
    expect(feed.getSnapshot().log).toHaveLength(20);
  });
});

it("counts what a fork uses from its own beginning, and the turns of its history", () => {
  const forked = [
    ...log,
    event("SessionStarted", 21, { turnId: null, forkedFromId: "sess_0" }),
    event("SessionIdled", 22, { usage: { ...usage, inputTokens: 0 } }),
  ];
  expect(fold(forked)).toMatchObject({ turnCount: 1, usage: { inputTokens: 0 } });
});
