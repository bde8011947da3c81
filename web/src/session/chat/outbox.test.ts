// @vitest-environment happy-dom

import { beforeEach, describe, expect, it } from "vitest";
import type { ChatItem } from "../feed/state";
import { type Failure, Outbox, type OutboxEntry, type SendOutcome, unseenEntries } from "./outbox";

const KEY = "ostler.outbox.test";
const settled = () => new Promise((resolve) => setTimeout(resolve));

function outboxThat(answers: (SendOutcome | "hang")[], writes: (Failure | null)[] = []) {
  const sent: OutboxEntry[] = [];
  const written: string[] = [];
  const outbox = new Outbox(
    localStorage,
    KEY,
    async (entry) => {
      sent.push(entry);
      const answer = answers.shift() ?? { kind: "unreachable", problem: "down" };
      return answer === "hang" ? new Promise(() => {}) : answer;
    },
    async ({ path }) => {
      written.push(path);
      return writes.shift() ?? null;
    },
  );
  return { outbox, sent, written };
}

beforeEach(() => localStorage.clear());

describe("Outbox", () => {
  it("keeps a sent message until its event has come", async () => {
    const { outbox } = outboxThat([{ kind: "sent", messageId: "msg_1" }]);
    outbox.add({ text: "Hello", delivery: "STEER" });
    await settled();
    expect(outbox.getSnapshot()).toMatchObject([{ state: "sent", messageId: "msg_1" }]);
    outbox.settle(new Set(["msg_1"]));
    expect(outbox.getSnapshot()).toEqual([]);
    expect(localStorage.getItem(KEY)).toBeNull();
  });

  it("writes files before their message, each once", async () => {
    const away = { kind: "unreachable", problem: "down" } as const;
    const { outbox, sent, written } = outboxThat(
      [away, { kind: "sent", messageId: "msg_1" }],
      [null, away],
    );
    const file = (path: string) => ({ kind: "file" as const, path, name: path, content: path });
    outbox.add({ text: "Read these", delivery: "STEER", files: [file("a"), file("b")] });
    await settled();
    expect([written, sent]).toEqual([["a", "b"], []]);
    // The first is there, and the agent may have changed it.
    outbox.retry();
    await settled();
    expect(written).toEqual(["a", "b", "b"]);
    outbox.retry();
    await settled();
    expect(written).toEqual(["a", "b", "b"]);
    expect(outbox.getSnapshot()).toMatchObject([{ state: "sent", messageId: "msg_1", files: [] }]);
  });

  it("sends nothing whose file was refused", async () => {
    const { outbox, sent } = outboxThat([], [{ kind: "refused", problem: "Too many files." }]);
    const files = [{ kind: "file" as const, path: "a", name: "a", content: "a" }];
    outbox.add({ text: "Read this", delivery: "STEER", files });
    await settled();
    expect(outbox.getSnapshot()).toMatchObject([{ state: "refused", problem: "Too many files." }]);
    expect(sent).toEqual([]);
  });

  it("sends again under the same key, in the order in which they were written", async () => {
    const { outbox, sent } = outboxThat([
      { kind: "unreachable", problem: "down" },
      { kind: "sent", messageId: "msg_1" },
      { kind: "sent", messageId: "msg_2" },
    ]);
    outbox.add({ text: "first", delivery: "STEER" });
    outbox.add({ text: "second", delivery: "QUEUE" });
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
    before.outbox.add({ text: "Hello", delivery: "STEER" });
    const after = outboxThat([{ kind: "sent", messageId: "msg_1" }]);
    expect(after.outbox.getSnapshot()).toMatchObject([{ text: "Hello", state: "stalled" }]);
    after.outbox.retry();
    await settled();
    expect(after.sent[0]?.key).toBe(before.sent[0]?.key);
  });

  it("sends images with the text, and reads what an older dashboard has stored without any", async () => {
    const { outbox, sent } = outboxThat([{ kind: "sent", messageId: "msg_1" }]);
    const images = [{ imageId: "img_1", url: "/v1/images/img_1" }];
    outbox.add({ text: "", delivery: "STEER", images });
    await settled();
    expect(sent[0]).toMatchObject({ text: "", images });
    const { images: _, ...old } = outbox.getSnapshot()[0] as OutboxEntry;
    localStorage.setItem(KEY, JSON.stringify([old]));
    expect(outboxThat([]).outbox.getSnapshot()[0]?.images).toEqual([]);
  });

  it("keeps what was refused, with the reason, until it is discarded", async () => {
    const { outbox } = outboxThat([{ kind: "refused", problem: "Too long." }]);
    outbox.add({ text: "Hello", delivery: "STEER" });
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
    outbox.add({ text: "Hello", delivery: "STEER", after: "msg_1" });
    await settled();
    // An older one with the same words is another message.
    expect(seen(outbox, user("msg_1", "Hello"))).toEqual(["Hello"]);
    expect(seen(outbox, user("msg_1", "Hello"), user("msg_2", "Hello"))).toEqual([]);
  });

  it("stays in sight while it can't be sent", async () => {
    const { outbox } = outboxThat([]);
    outbox.add({ text: "Hello", delivery: "STEER", after: "msg_1" });
    await settled();
    expect(seen(outbox, user("msg_1", ""), user("msg_2", "Hello"))).toEqual(["Hello"]);
  });
});
