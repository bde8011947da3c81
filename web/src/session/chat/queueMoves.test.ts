import { expect, it } from "vitest";
import { initialState, type NoticeItem } from "../feed/state";
import { latestEndedTurn } from "./latestTurn";
import { turnAfterMove } from "./queueMoves";

const ids = ["a", "b", "c"];

it("names the turn that a moved one comes before", () => {
  expect(turnAfterMove(ids, 1, -1)).toBe("a");
  expect(turnAfterMove(ids, 2, -1)).toBe("b");
  expect(turnAfterMove(ids, 0, 1)).toBe("c");
});

it("puts one last, and goes no further than the ends", () => {
  expect(turnAfterMove(ids, 1, 1)).toBeNull();
  expect(turnAfterMove(ids, 0, -1)).toBeUndefined();
  expect(turnAfterMove(ids, 2, 1)).toBeUndefined();
});

it("finds the turn to continue, but not while another one is under way or queued", () => {
  const sealed: NoticeItem = {
    kind: "notice",
    id: "evt_1",
    turnId: "turn_1",
    at: "2026-11-20T10:00:00.000Z",
    notice: {
      type: "sealed",
      stopReason: "ITERATION_LIMIT",
      told: false,
      took: null,
      failure: { code: "iteration_limit", message: "" },
    },
  };
  const forked: NoticeItem = {
    ...sealed,
    id: "evt_2",
    turnId: null,
    notice: { type: "forked", fromSessionId: "sess_1" },
  };
  const state = { ...initialState, items: [sealed, forked] };
  expect(latestEndedTurn(initialState)).toBeNull();
  expect(latestEndedTurn(state)).toBe("turn_1");
  expect(latestEndedTurn({ ...state, activeTurnId: "turn_2" })).toBeNull();
  expect(latestEndedTurn({ ...state, queuedTurnIds: ["turn_2"] })).toBeNull();
});
