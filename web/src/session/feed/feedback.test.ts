import { expect, it } from "vitest";
import { timelineOf } from "../timeline/foldTimeline";
import { foldEvent } from "./fold";
import { initialState } from "./state";
import { event, turnWithTool } from "./test/events";

const rated = (sequence: number, byId: string, rating: "UP" | "DOWN" | null, comment = "") =>
  event("TurnRated", sequence, { rating, comment, data: { byKind: "USER", byId } });

it("keeps the last word of everybody, until they take it back", () => {
  const log = [
    ...turnWithTool(),
    rated(21, "user_1", "UP"),
    rated(22, "user_2", "DOWN", "Too long."),
    rated(23, "user_1", "DOWN"),
  ];
  const said = [
    { by: { kind: "USER", id: "user_2" }, rating: "DOWN", comment: "Too long." },
    { by: { kind: "USER", id: "user_1" }, rating: "DOWN", comment: null },
  ];
  const state = log.reduce(foldEvent, initialState);
  expect(state.feedback).toEqual({ turn_1: said });
  expect(timelineOf(log)[0]?.feedback).toEqual(said);
  expect(foldEvent(state, rated(24, "user_2", null)).feedback).toEqual({ turn_1: said.slice(1) });
});
