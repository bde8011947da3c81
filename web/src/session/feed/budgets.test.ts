import { expect, it } from "vitest";
import { budgetIsTold } from "./budgets";
import { latestFailure } from "./ends";
import type { SessionEvent } from "./event";
import { foldEvent } from "./fold";
import { initialState } from "./state";
import { event, textMessage, turnWithTool } from "./test/events";

const of = (name: SessionEvent["__typename"], sequence: number) => event(name, sequence, {});

const working = turnWithTool().slice(0, 5).reduce(foldEvent, initialState);

it("pauses with its budget, and goes on", () => {
  const paused = [of("TurnWaiting", 6), of("BudgetPaused", 7), of("SessionPaused", 8)].reduce(
    foldEvent,
    working,
  );
  expect(paused).toMatchObject({ status: "PAUSED", activeTurnId: "turn_1" });
  const going = [of("BudgetResumed", 9), of("SessionResumed", 10)].reduce(foldEvent, paused);
  expect(going).toMatchObject({ status: "ACTIVE", activeTurnId: "turn_1" });
});

it("says once why a turn was stopped", () => {
  const error = { code: "budget_exhausted", message: "The budget is used up.", fields: null };
  const said = { ...textMessage("msg_1", "AGENT", error.message), error };
  const end = event("TurnSealed", 8, { stopReason: "BUDGET", error });
  const told = [event("OutputCompleted", 7, { message: said }), end].reduce(foldEvent, working);
  expect(told.items.at(-1)).toMatchObject({ notice: { type: "sealed", told: true } });
  expect(foldEvent(working, end).items.at(-1)).toMatchObject({ notice: { told: false } });
  expect(latestFailure(working)).toBeNull();
  expect(latestFailure(foldEvent(working, end))).toEqual({ sealed: true, message: error.message });
});

it("tells when budgets may stand otherwise, once per event", () => {
  const spent = turnWithTool().reduce(foldEvent, initialState);
  // Two answers of the model, one tool, one end.
  expect(spent.budgetVersion).toBe(4);
  expect(turnWithTool().reduce(foldEvent, spent)).toBe(spent);
  expect(foldEvent(spent, of("BudgetWarned", 21)).budgetVersion).toBe(5);
  expect(foldEvent(spent, of("SessionTitleChanged", 21)).budgetVersion).toBe(4);
});

it("knows when the conversation says what stands in the way", () => {
  const sealed = foldEvent(
    working,
    event("TurnSealed", 8, {
      stopReason: "BUDGET",
      error: { code: "budget_exhausted", message: "", fields: null },
    }),
  );
  expect(budgetIsTold(working)).toBe(false);
  expect(budgetIsTold({ ...working, status: "PAUSED" })).toBe(true);
  expect(budgetIsTold({ ...sealed, status: "IDLE" })).toBe(true);
});
