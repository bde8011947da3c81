import { expect, it } from "vitest";
import { budgetsSearch } from "./search";
import { BUDGET_STATUSES, SUBJECTS } from "./words";

it("reads the address, and nothing that makes no sense", () => {
  expect(budgetsSearch({ subject: "AGENT", subjectId: "agent_1", status: "PAUSED" })).toEqual({
    subject: "AGENT",
    subjectId: "agent_1",
    status: "PAUSED",
  });
  // Keys of customers may be numbers, which the router reads as such.
  expect(budgetsSearch({ subject: "CUSTOMER", subjectId: 42 }).subjectId).toBe("42");
  expect(budgetsSearch({ subjectId: "agent_1", status: "BROKE", new: "yes" })).toEqual({});
  expect(budgetsSearch({ new: true })).toEqual({ new: true });
});

it("takes each filter that the page offers", () => {
  for (const subject of SUBJECTS) expect(budgetsSearch({ subject })).toEqual({ subject });
  for (const status of BUDGET_STATUSES) expect(budgetsSearch({ status })).toEqual({ status });
});
