import {
  capabilityInputs,
  capabilityProblem,
  type DraftCapability,
  draftCapabilities,
} from "@/catalog/capabilities";
import {
  clientToolInputs,
  clientToolsProblem,
  type DraftClientTool,
  draftClientTools,
} from "@/catalog/clientTools";
import { iterationsOf, iterationsProblem } from "@/catalog/iterations";
import { same } from "@/catalog/rebase";
import type { AgentDetailFragment, CreateAgentInput, UpdateAgentInput } from "@/gql/graphql";

/** An agent as the form holds it: every field as text that a control can show, valid or not. */
export interface AgentDraft {
  name: string;
  displayName: string;
  description: string;
  harnessId: string;
  modelId: string;
  /** Ids of models, in the order in which they are asked. */
  fallbackModelIds: string[];
  systemPrompt: string;
  /** In the order in which they were picked; it decides the order of their prompts. */
  capabilities: DraftCapability[];
  clientTools: DraftClientTool[];
  /** Separated by commas. */
  tags: string;
  maxIterations: string;
}

export const emptyDraft: AgentDraft = {
  name: "",
  displayName: "",
  description: "",
  harnessId: "",
  modelId: "",
  fallbackModelIds: [],
  systemPrompt: "",
  capabilities: [],
  clientTools: [],
  tags: "",
  maxIterations: "",
};

export function draftOf(agent: AgentDetailFragment): AgentDraft {
  return {
    name: agent.name,
    displayName: agent.displayName,
    description: agent.description ?? "",
    harnessId: agent.harness?.id ?? "",
    modelId: agent.defaultModel?.id ?? "",
    fallbackModelIds: agent.fallbackModels.map(({ id }) => id),
    systemPrompt: agent.systemPrompt,
    capabilities: draftCapabilities(agent.capabilities),
    clientTools: draftClientTools(agent.clientTools),
    tags: agent.tags.join(", "),
    maxIterations: agent.maxIterations === null ? "" : String(agent.maxIterations),
  };
}

/** What is wrong with a draft before it is even sent, by field. */
export function draftProblems(draft: AgentDraft): Partial<Record<keyof AgentDraft, string>> {
  const iterations = iterationsProblem(draft.maxIterations);
  const capabilities = capabilityProblem(draft.capabilities);
  const clientTools = clientToolsProblem(draft.clientTools);
  return {
    ...(iterations ? { maxIterations: iterations } : {}),
    ...(capabilities ? { capabilities } : {}),
    ...(clientTools ? { clientTools } : {}),
  };
}

export function createInput(draft: AgentDraft): CreateAgentInput {
  return {
    name: draft.name.trim(),
    displayName: draft.displayName.trim() || null,
    description: draft.description.trim() || null,
    harnessId: draft.harnessId || null,
    systemPrompt: draft.systemPrompt,
    capabilities: capabilityInputs(draft.capabilities),
    clientTools: clientToolInputs(draft.clientTools),
    defaultModelId: draft.modelId || null,
    fallbackModelIds: draft.fallbackModelIds,
    maxIterations: iterationsOf(draft.maxIterations),
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

function tagsOf(draft: AgentDraft): string[] {
  const tags = draft.tags.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

export function sameDraft(left: AgentDraft, right: AgentDraft): boolean {
  return same(left, right);
}
