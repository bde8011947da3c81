// @vitest-environment happy-dom

import { beforeEach, describe, expect, it } from "vitest";
import type { ChatItem } from "../feed/state";
import { Outbox, type OutboxEntry, type SendOutcome, unseenEntries } from "./outbox";

const KEY = "ostler.outbox.test";
const settled = () => new Promise((resolve) => setTimeout(resolve));

function outboxThat(answers: (SendOutcome | "hang")[]) {
  const sent: OutboxEntry[] = [];
  const outbox = new Outbox(localStorage, KEY, async (entry) => {
    sent.push(entry);
    const answer = answers.shift() ?? { kind: "unreachable", problem: "down" };
    return answer === "hang" ? new Promise(() => {}) : answer;
  });
  return { outbox, sent };
}

beforeEach(() => localStorage.clear());

describe("Outbox", () => {
  it("keeps a sent message until its event has come", async () => {
    const { outbox } = outboxThat([{ kind: "sent", messageId: "msg_1" }]);
    outbox.add("Hello", "STEER");
    await settled();
    expect(outbox.getSnapshot()).toMatchObject([{ state: "sent", messageId: "msg_1" }]);
    outbox.settle(new Set(["msg_1"]));
    expect(outbox.getSnapshot()).toEqual([]);
    expect(localStorage.getItem(KEY)).toBeNull();
  });

  it("sends again under the same key, in the order in which they were written", async () => {
    const { outbox, sent } = outboxThat([
      { kind: "unreachable", problem: "down" },
      { kind: "sent", messageId: "msg_1" },
      { kind: "sent", messageId: "msg_2" },
    ]);
    outbox.add("first", "STEER");
    outbox.add("second", "QUEUE");
    await settled();
    expect(outbox.getSnapshot().map(({ state }) => state)).toEqual(["stalled", "stalled"]);
    outbox.retry();
    await settled();
    expect(sent.map(({ text }) => text)).toEqual(["first", "first", "second"]);
    expect(sent[0]?.key).toBe(sent[1]?.key);
    expect(sent[2]?.delivery).toBe("QUEUE");
  });

  it("survives a reload in the middle of a send, with its key", async () => {
    const before = outboxThat(["hang"]);
    before.outbox.add("Hello", "STEER");
    const after = outboxThat([{ kind: "sent", messageId: "msg_1" }]);
    expect(after.outbox.getSnapshot()).toMatchObject([{ text: "Hello", state: "stalled" }]);
    after.outbox.retry();
    await settled();
    expect(after.sent[0]?.key).toBe(before.sent[0]?.key);
  });

  it("sends images with the text, and reads what an older dashboard has stored without any", async () => {
    const { outbox, sent } = outboxThat([{ kind: "sent", messageId: "msg_1" }]);
    const images = [{ imageId: "img_1", url: "/v1/images/img_1" }];
    outbox.add("", "STEER", images);
    await settled();
    expect(sent[0]).toMatchObject({ text: "", images });
    const { images: _, ...old } = outbox.getSnapshot()[0] as OutboxEntry;
    localStorage.setItem(KEY, JSON.stringify([old]));
    expect(outboxThat([]).outbox.getSnapshot()[0]?.images).toEqual([]);
  });

  it("keeps what was refused, with the reason, until it is discarded", async () => {
    const { outbox } = outboxThat([{ kind: "refused", problem: "Too long." }]);
    outbox.add("Hello", "STEER");
    await settled();
    const [entry] = outbox.getSnapshot();
    expect(entry).toMatchObject({ state: "refused", problem: "Too long." });
    outbox.retry();
    outbox.discard(entry?.key ?? "");
    expect(outbox.getSnapshot()).toEqual([]);
  });
});

describe("a message that is being sent", () => {
  const user = (id: string, text: string): ChatItem => ({
    kind: "user",
    id,
    turnId: "turn_1",
    at: "",
    text,
    images: [],
    delivery: null,
  });
  const seen = (outbox: Outbox, ...items: ChatItem[]) =>
    unseenEntries(outbox.getSnapshot(), items).map(({ text }) => text);

  it("stands once when its event is here before the answer to it", async () => {
    const { outbox } = outboxThat(["hang"]);
    outbox.add("Hello", "STEER", [], "msg_1");
    await settled();
    // An older one with the same words is another message.
    expect(seen(outbox, user("msg_1", "Hello"))).toEqual(["Hello"]);
    expect(seen(outbox, user("msg_1", "Hello"), user("msg_2", "Hello"))).toEqual([]);
  });

  it("stays in sight while it can't be sent", async () => {
    const { outbox } = outboxThat([]);
    outbox.add("Hello", "STEER", [], "msg_1");
    await settled();
    expect(seen(outbox, user("msg_1", ""), user("msg_2", "Hello"))).toEqual(["Hello"]);
  });
});
