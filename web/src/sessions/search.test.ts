import { expect, it } from "vitest";
import { sessionFilter, sessionListSearch } from "./search";

it("turns an address into the filter of the API", () => {
  const search = sessionListSearch({
    q: " refund 1000 ",
    status: "IDLE",
    failed: "true",
    rated: "down",
    agent: "agent_1",
    harness: "harness_1",
    tag: "vip",
    customer: 42,
    days: "7",
    other: "x",
  });
  expect(sessionFilter(search, Date.parse("2026-01-08T00:00:00Z"))).toEqual({
    search: "refund 1000",
    status: ["IDLE"],
    failed: true,
    ratedDown: true,
    agentId: "agent_1",
    harnessId: "harness_1",
    tag: "vip",
    customerKey: "42",
    createdAfter: "2026-01-01T00:00:00.000Z",
  });
});

it("ignores what makes no sense, and asks for all sessions then", () => {
  const search = sessionListSearch({ status: "LOST", failed: "no", days: "-1", q: " ", new: "" });
  expect(search).toEqual({ new: "" });
  expect(sessionFilter(search, 0)).toBeNull();
});
