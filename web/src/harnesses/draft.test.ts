import { expect, it } from "vitest";
import { createInput, emptyHarness, updateInput } from "./draft";

it("inherits what is left empty", () => {
  expect(createInput({ ...emptyHarness, name: " child ", parentId: "harness_1" })).toEqual({
    name: "child",
    displayName: null,
    description: null,
    parentId: "harness_1",
    systemPrompt: null,
    capabilities: [],
    defaultModelId: null,
    fallbackModelIds: [],
    maxIterations: null,
    streamRecovery: null,
  });
});

it("says what becomes of interrupted answers, or leaves it to the parent", () => {
  const input = createInput({ ...emptyHarness, streamRecovery: "FINALIZE" });
  expect(input.streamRecovery).toBe("FINALIZE");
});

it("changes neither the name nor the parent, and names the revision that it changes", () => {
  const input = updateInput({ ...emptyHarness, name: "x", parentId: "harness_1" }, 4, "Why not");
  expect(input).toMatchObject({ revision: 4, reason: "Why not" });
  expect(input).not.toHaveProperty("name");
  expect(input).not.toHaveProperty("parentId");
});
