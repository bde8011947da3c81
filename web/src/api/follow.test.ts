import { describe, expect, it, vi } from "vitest";
import type { SessionEvent } from "@/session/feed/event";
import { SessionFeed } from "@/session/feed/feed";
import { event, turnWithTool } from "@/session/feed/test/events";
import { type FollowOptions, follow as followStream, type StreamEnd } from "./follow";

type Attempt = (emit: (event: SessionEvent) => void) => StreamEnd;

/** Runs a session against a server that is played by a list of attempts, and tells where each resumed. */
async function follow(
  attempts: Attempt[],
  overrides: Partial<FollowOptions<SessionEvent, number>> = {},
) {
  const feed = new SessionFeed(async () => null);
  const controller = new AbortController();
  const resumedAfter: number[] = [];
  const pauses: number[] = [];
  const onDown = vi.fn();
  const onEnded = vi.fn();
  await followStream<SessionEvent, number>({
    subscribeOnce: async (after, onEvent) => {
      resumedAfter.push(after);
      const attempt = attempts.shift();
      if (!attempt) {
        controller.abort();
        return { kind: "aborted" };
      }
      return attempt(onEvent);
    },
    resumeAfter: () => feed.resumeAfter(),
    sequenceOf: ({ sequence }) => sequence,
    onEvent: (each) => feed.push(each),
    onLive: () => {},
    onDown,
    onEnded,
    renewSignIn: async () => "refreshed",
    pause: async (ms) => void pauses.push(ms),
    signal: controller.signal,
    ...overrides,
  });
  feed.flush();
  return { feed, resumedAfter, pauses, onDown, onEnded };
}

const events = turnWithTool();
const caughtUp = (sequence: number) => event("CaughtUp", sequence, {});
const emitting =
  (sent: readonly SessionEvent[], end: StreamEnd): Attempt =>
  (emit) => {
    for (const each of sent) emit(each);
    return end;
  };

describe("follow", () => {
  it("resumes after the newest durable event, without a gap or a repeat", async () => {
    const { feed, resumedAfter } = await follow([
      emitting([...events.slice(0, 7), caughtUp(7)], { kind: "dropped" }),
      emitting([...events.slice(7), caughtUp(20)], { kind: "dropped" }),
    ]);
    expect(resumedAfter).toEqual([0, 7, 20]);
    expect(feed.getSnapshot().log.map(({ sequence }) => sequence)).toEqual(
      events.map(({ sequence }) => sequence),
    );
  });

  it("gives up a subscription that skips a sequence, and asks again from there", async () => {
    const { feed, resumedAfter, onDown } = await follow([
      emitting([...events.slice(0, 4), ...events.slice(5)], { kind: "aborted" }),
      emitting(events.slice(4), { kind: "dropped" }),
    ]);
    expect(resumedAfter).toEqual([0, 4, 20]);
    expect(feed.getSnapshot().log).toHaveLength(20);
    expect(onDown).toHaveBeenCalledTimes(1);
  });

  it("resumes at once when it lagged", async () => {
    const { resumedAfter, pauses } = await follow([
      emitting(events.slice(0, 3), { kind: "lagged" }),
      emitting(events.slice(3, 5), { kind: "lagged" }),
    ]);
    expect(resumedAfter).toEqual([0, 3, 5]);
    expect(pauses).toEqual([]);
  });

  it("waits longer from failure to failure, and starts over once it was live", async () => {
    const down: Attempt = () => ({ kind: "dropped" });
    const { pauses } = await follow([
      down,
      down,
      down,
      emitting([caughtUp(0)], { kind: "dropped" }),
    ]);
    const [first = 0, second = 0, third = 0, afterLive = 0] = pauses;
    expect(first).toBeLessThanOrEqual(200);
    expect(second).toBeGreaterThanOrEqual(200);
    expect(third).toBeGreaterThanOrEqual(400);
    expect(afterLive).toBeLessThanOrEqual(200);
  });

  it("does as the server says when it names a wait", async () => {
    const { pauses } = await follow([() => ({ kind: "dropped", retryAfterMs: 4000 })]);
    expect(pauses).toEqual([4000]);
  });

  it("renews the sign-in and comes back at once, but not in a tight loop", async () => {
    const renewSignIn = vi.fn(async () => "refreshed" as const);
    const refused: Attempt = () => ({ kind: "refused" });
    const { resumedAfter, pauses } = await follow([refused, refused], { renewSignIn });
    expect(renewSignIn).toHaveBeenCalledTimes(2);
    expect(resumedAfter).toHaveLength(3);
    expect(pauses).toHaveLength(1);
  });

  it("ends when the sign-in is over, and when trying again can't help", async () => {
    const over = await follow([() => ({ kind: "refused" })], {
      renewSignIn: async () => "signed-out",
    });
    expect(over.onEnded).toHaveBeenCalledWith("You were signed out.");
    const fatal = await follow([() => ({ kind: "fatal", message: "Not found." })]);
    expect(fatal.onEnded).toHaveBeenCalledWith("Not found.");
    expect(fatal.resumedAfter).toEqual([0]);
  });
});
