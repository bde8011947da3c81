import { expect, it } from "vitest";
import {
  sessionFilter,
  sessionListSearch,
  sessionQuery,
  viewSearch,
  viewText,
  withoutFilters,
} from "./search";

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

it("filters by the last turn, the model, days, cost and duration", () => {
  const search = sessionListSearch({
    outcome: "FAILED",
    model: "model_1",
    from: "2026-11-02",
    to: "2026-11-03",
    costFrom: 0.5,
    costTo: "2",
    tookFrom: "1.5",
    tookTo: "60",
  });
  expect(sessionFilter(search, 0)).toEqual({
    outcome: "FAILED",
    modelId: "model_1",
    // Both days are in it, in the viewer's zone.
    createdAfter: new Date(2026, 10, 2).toISOString(),
    createdBefore: new Date(2026, 10, 4).toISOString(),
    minCostUsd: "0.5",
    maxCostUsd: "2",
    minDurationMs: 1500,
    maxDurationMs: 60_000,
  });
  expect(sessionListSearch({ from: "2026-13-45", costFrom: "-1", tookTo: "long" })).toEqual({});
});

it("takes the later of two beginnings", () => {
  const now = new Date(2026, 10, 24).getTime();
  const filter = (days: number) => sessionFilter({ days, from: "2026-11-10" }, now);
  expect(filter(30)).toEqual({ createdAfter: new Date(2026, 10, 10).toISOString() });
  expect(filter(1)).toEqual({ createdAfter: new Date(now - 86_400_000).toISOString() });
});

it("names all sessions in the address where another view may be the first, and in no view", () => {
  expect(withoutFilters({ tag: "vip", sort: "cost" })).toEqual({ view: "all", sort: "cost" });
  expect(sessionFilter({ view: "all" }, 0)).toBeNull();
  expect(viewText({ view: "all" })).toBe("");
  expect(viewText({ view: "all", tag: "vip" })).toBe(viewText({ tag: "vip" }));
});

it("asks for what was searched in each row, and for the order of the address", () => {
  expect(sessionQuery({}, 0)).toEqual({
    filter: null,
    orderBy: "CREATED",
    direction: "DESC",
    q: "",
    searching: false,
  });
  expect(sessionQuery({ q: "ice", sort: "cost", asc: true }, 0)).toMatchObject({
    orderBy: "COST",
    direction: "ASC",
    q: "ice",
    searching: true,
  });
});

it("keeps a view of an address, without the dialog that is open", () => {
  const search = sessionListSearch({ q: "a&b=c 1", sort: "cost", failed: true, new: "" });
  const text = viewText(search, "agent,cost");
  expect(viewSearch(text)).toEqual({
    q: "a&b=c 1",
    sort: "cost",
    failed: true,
    columns: "agent,cost",
  });
  expect(viewText(viewSearch(text))).toBe(text);
});
