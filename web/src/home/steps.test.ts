import { expect, it } from "vitest";
import type { Permission } from "@/gql/graphql";
import { firstSteps, type StepFacts } from "./steps";

const OWNER: Permission[] = [
  "SESSIONS_WRITE",
  "CATALOG_WRITE",
  "PROVIDERS_MANAGE",
  "API_KEYS_MANAGE",
];
const NEW: StepFacts = {
  agents: { nodes: [{ id: "agent_1", name: "demo" }] },
  providers: { nodes: [{ id: "prov_1", kind: "SIMULATED" }] },
  apiKeys: { nodes: [] },
};
const done = (data: StepFacts, started = false) =>
  firstSteps(OWNER, data, started)
    .filter((step) => step.done)
    .map(({ title }) => title);

it("counts nothing that every organization begins with", () => {
  expect(firstSteps(OWNER, NEW, false)).toHaveLength(4);
  expect(done(NEW)).toEqual([]);
});

it("ticks what was done, also without the demo agent", () => {
  expect(done(NEW, true)).toEqual(["Start a session"]);
  expect(done({ ...NEW, agents: { nodes: [{ id: "agent_2", name: "support" }] } })).toEqual([
    "Create an agent",
  ]);
  expect(done({ ...NEW, providers: { nodes: [{ id: "prov_2", kind: "OPENAI" }] } })).toEqual([
    "Connect a model provider",
  ]);
  expect(done({ ...NEW, apiKeys: { nodes: [{ id: "key_1" }] } })).toEqual(["Use the API"]);
});

it("shows nobody a step that they may not take", () => {
  const { apiKeys: _, ...withoutKeys } = NEW;
  expect(firstSteps(["SESSIONS_WRITE"], withoutKeys, false).map(({ title }) => title)).toEqual([
    "Start a session",
  ]);
});
