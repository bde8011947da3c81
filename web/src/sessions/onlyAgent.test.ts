import { expect, it } from "vitest";
import { onlyAgent } from "./onlyAgent";

const agent = (id: string, harness: string | null) => ({
  id,
  harness: harness === null ? null : { id: harness },
});
const of = (nodes: ReturnType<typeof agent>[], hasNextPage = false) => ({
  nodes,
  pageInfo: { hasNextPage },
});

it("finds the agent of a harness, or of an organization, that has but one", () => {
  const two = [agent("a", "generic"), agent("b", null)];
  expect(onlyAgent(of([]), "")).toBe("");
  expect(onlyAgent(of([agent("a", null)]), "")).toBe("a");
  expect(onlyAgent(of(two), "")).toBe("");
  expect(onlyAgent(of(two), "generic")).toBe("a");
  expect(onlyAgent(of([...two, agent("c", "generic")]), "generic")).toBe("");
  expect(onlyAgent(of(two), "other")).toBe("");
  expect(onlyAgent(of(two, true), "generic")).toBe("");
});
