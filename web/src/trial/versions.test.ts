import { expect, it } from "vitest";
import { draftOf, emptyDraft } from "@/agents/draft";
import type { AgentDetailFragment } from "@/gql/graphql";
import { emptyHarness } from "@/harnesses/draft";
import { agentTrial, harnessTrial } from "./versions";

const SAVED = {
  id: "agent_1",
  name: "helper",
  displayName: "Helper",
  description: null,
  systemPrompt: "As saved.",
  capabilities: [],
  clientTools: [],
  defaultModel: null,
  fallbackModels: [],
  harness: null,
  maxIterations: null,
  tags: [],
  revision: 3,
} as unknown as AgentDetailFragment;

it("sets a draft beside the revision that it changes, and one version alone where nothing is changed", () => {
  expect(agentTrial(draftOf(SAVED), SAVED)).toMatchObject({
    draft: { label: "Revision 3" },
    saved: null,
  });
  const changed = agentTrial({ ...draftOf(SAVED), systemPrompt: "As typed." }, SAVED);
  expect(changed).toMatchObject({
    draft: { label: "Draft", input: { systemPrompt: "As typed." } },
    saved: { label: "Revision 3", input: { systemPrompt: "As saved." } },
    problem: null,
  });
  expect(agentTrial(emptyDraft, null)).toMatchObject({ draft: { label: "Draft" }, saved: null });
});

it("says why there is nothing to try", () => {
  const trial = agentTrial({ ...emptyDraft, maxIterations: "many" }, null);
  expect(trial.draft).toBeNull();
  expect(trial.problem).toMatch(/./);
  expect(trial.problem).not.toContain("Preview");
  expect(harnessTrial(emptyHarness, null).problem).toContain("without a parent");
});

it("tries a harness as an agent on its parent", () => {
  const trial = harnessTrial({ ...emptyHarness, parentId: "harn_1", systemPrompt: "More." }, null);
  expect(trial.draft?.input).toMatchObject({ harnessId: "harn_1", systemPrompt: "More." });
});
