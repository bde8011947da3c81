import {
  clientToolInputs,
  clientToolProblems,
  clientToolsProblem,
  type DraftClientTool,
  draftClientTools,
} from "@/catalog/clientTools";
import {
  type DefinitionDraft,
  definitionDraft,
  definitionInput,
  definitionProblems,
  emptyDefinition,
  FIELD_LABELS as SHARED_LABELS,
} from "@/definitions/draft";
import type { AgentDetailFragment, CreateAgentInput, UpdateAgentInput } from "@/gql/graphql";

/** An agent as the form holds it. */
export interface AgentDraft extends DefinitionDraft {
  harnessId: string;
  clientTools: DraftClientTool[];
  /** Separated by commas. */
  tags: string;
}

export const emptyDraft: AgentDraft = {
  ...emptyDefinition,
  harnessId: "",
  clientTools: [],
  tags: "",
};

export function draftOf(agent: AgentDetailFragment): AgentDraft {
  return {
    ...definitionDraft(agent),
    harnessId: agent.harness?.id ?? "",
    clientTools: draftClientTools(agent.clientTools),
    tags: agent.tags.join(", "),
  };
}

/** What is wrong with a draft before it is even sent, by field. */
export function draftProblems(draft: AgentDraft): Partial<Record<keyof AgentDraft, string>> {
  const clientTools = clientToolsProblem(draft.clientTools);
  return { ...definitionProblems(draft), ...(clientTools ? { clientTools } : {}) };
}

export function createInput(draft: AgentDraft): CreateAgentInput {
  return {
    ...definitionInput(draft),
    harnessId: draft.harnessId || null,
    clientTools: clientToolInputs(draft.clientTools),
    tags: tagsOf(draft),
  };
}

/** The name is not in it: it is fixed once an agent exists. */
export function updateInput(
  draft: AgentDraft,
  revision: number,
  reason: string | null = null,
): UpdateAgentInput {
  const { name: _fixed, ...input } = createInput(draft);
  return { ...input, revision, reason };
}

/**
 * What a preview of a draft shows: the draft without client tools that aren't complete yet. `missing` says what isn't
 * in it; `input` is null when nothing can be shown.
 */
export function previewOf(draft: AgentDraft): {
  input: CreateAgentInput | null;
  missing: string | null;
} {
  const complete = draft.clientTools.filter(
    (tool) => Object.keys(clientToolProblems(tool)).length === 0,
  );
  const problem = Object.values(draftProblems({ ...draft, clientTools: complete }))[0];
  if (problem !== undefined) {
    return { input: null, missing: `Preview of the last valid version. ${problem}` };
  }
  const left = draft.clientTools.length - complete.length;
  return {
    // The API wants a name; it has no part in the result.
    input: { ...createInput({ ...draft, clientTools: complete }), name: "draft" },
    missing:
      left === 0
        ? null
        : `Without ${left === 1 ? "a client tool that is" : `${left} client tools that are`} incomplete.`,
  };
}

function tagsOf(draft: AgentDraft): string[] {
  const tags = draft.tags.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

export const FIELD_LABELS: Record<keyof AgentDraft, string> = {
  ...SHARED_LABELS,
  harnessId: "Harness",
  clientTools: "Client tools",
  tags: "Tags",
};
