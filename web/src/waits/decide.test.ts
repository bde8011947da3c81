import { describe, expect, it } from "vitest";
import { decisionOf } from "./decisions";
import { decidableByTurn } from "./ofTurns";
import type { Wait } from "./wait";

const wait = (id: string, own: Partial<Wait> = {}) =>
  ({
    id,
    kind: "APPROVAL",
    viewerMayResolve: true,
    payment: null,
    decisions: [],
    turn: { id: "turn_1", startedBy: { kind: "USER", id: "user_1", name: "Ada" } },
    ...own,
  }) as unknown as Wait;

const approvedBy = (id: string, args: unknown = null) => ({
  approve: true,
  note: null,
  arguments: args,
  createdAt: "2026-11-22T10:00:00.000Z",
  actor: { kind: "USER" as const, id, name: "" },
});

describe("decidableByTurn", () => {
  it("takes several approvals of a turn together, and none that has to be decided by itself", () => {
    const payment = { amount: "1", currency: "usd", host: "example.com", purpose: "books" };
    const list = [
      wait("a"),
      wait("b"),
      wait("paid", { payment }),
      wait("not mine", { viewerMayResolve: false }),
      wait("decided", { decisions: [approvedBy("me")] }),
      wait("question", { kind: "QUESTION" }),
      wait("alone", { turn: { ...wait("x").turn, id: "turn_2" } as Wait["turn"] }),
    ];
    expect([...decidableByTurn(list, "me")]).toEqual([["turn_1", [list[0], list[1]]]]);
  });
});

describe("decisionOf", () => {
  it("approves what was proposed last, unless there is something else", () => {
    const proposed = wait("a", { decisions: [approvedBy("other", { n: 2 })] });
    expect(decisionOf(proposed, true, { note: " ok " })).toEqual({
      waitId: "a",
      approve: true,
      note: "ok",
      arguments: { n: 2 },
    });
    expect(decisionOf(proposed, true, { own: { n: 3 } }).arguments).toEqual({ n: 3 });
  });

  it("sends no arguments with a denial, nor with an approval of the call's own", () => {
    const proposed = wait("a", { decisions: [approvedBy("other", { n: 2 })] });
    expect(decisionOf(proposed, false)).toEqual({ waitId: "a", approve: false, note: null });
    expect(decisionOf(wait("a"), true)).toEqual({ waitId: "a", approve: true, note: null });
  });
});
