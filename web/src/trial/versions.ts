import { type AgentDraft, draftOf as draftOfAgent, draftProblems, previewOf } from "@/agents/draft";
import { definitionInput, definitionProblems } from "@/definitions/draft";
import type { AgentDetailFragment, CreateAgentInput, HarnessDetailFragment } from "@/gql/graphql";
import { draftOf as draftOfHarness, type HarnessDraft } from "@/harnesses/draft";
import type { Version } from "./useTrial";

/** What can be tried of a form. */
export interface Trial {
  draft: Version | null;
  saved: Version | null;
  problem: string | null;
}

export function agentTrial(draft: AgentDraft, saved: AgentDetailFragment | null): Trial {
  const { input, missing } = previewOf(draft);
  const problem = input ? missing : (Object.values(draftProblems(draft))[0] ?? null);
  return trialOf(input, problem, saved && previewOf(draftOfAgent(saved)).input, saved);
}

/** A harness is tried as an agent on its parent would be: what both add is the same. */
export function harnessTrial(draft: HarnessDraft, saved: HarnessDetailFragment | null): Trial {
  if (draft.parentId === "") {
    return { draft: null, saved: null, problem: "A harness without a parent can't be tried." };
  }
  const problem = Object.values(definitionProblems(draft))[0] ?? null;
  return trialOf(
    problem === null ? harnessInput(draft) : null,
    problem,
    saved && harnessInput(draftOfHarness(saved)),
    saved,
  );
}

function harnessInput(draft: HarnessDraft): CreateAgentInput {
  return { ...definitionInput(draft), name: "draft", harnessId: draft.parentId };
}

function trialOf(
  input: CreateAgentInput | null,
  problem: string | null,
  before: CreateAgentInput | null,
  saved: { revision: number } | null,
): Trial {
  const changed = JSON.stringify(input) !== JSON.stringify(before);
  return {
    draft: input && { label: saved && !changed ? `Revision ${saved.revision}` : "Draft", input },
    saved:
      saved && before && changed ? { label: `Revision ${saved.revision}`, input: before } : null,
    problem,
  };
}
