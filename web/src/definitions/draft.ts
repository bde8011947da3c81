import {
  capabilityInputs,
  capabilityProblem,
  type DraftCapability,
  draftCapabilities,
} from "@/catalog/capabilities";
import { iterationsOf, iterationsProblem } from "@/catalog/iterations";
import type { AgentDetailFragment, HarnessDetailFragment } from "@/gql/graphql";

/** What the forms of an agent and of a harness have in common: every field as text that a control can show, valid or not. */
export interface DefinitionDraft {
  name: string;
  displayName: string;
  description: string;
  modelId: string;
  /** Ids of models, in the order in which they are asked. */
  fallbackModelIds: string[];
  systemPrompt: string;
  /** In the order in which they were picked; it decides the order of their prompts. */
  capabilities: DraftCapability[];
  maxIterations: string;
}

export const emptyDefinition: DefinitionDraft = {
  name: "",
  displayName: "",
  description: "",
  modelId: "",
  fallbackModelIds: [],
  systemPrompt: "",
  capabilities: [],
  maxIterations: "",
};

export function definitionDraft(
  saved: AgentDetailFragment | HarnessDetailFragment,
): DefinitionDraft {
  return {
    name: saved.name,
    displayName: saved.displayName,
    description: saved.description ?? "",
    modelId: saved.defaultModel?.id ?? "",
    fallbackModelIds: saved.fallbackModels.map(({ id }) => id),
    systemPrompt: saved.systemPrompt ?? "",
    capabilities: draftCapabilities(saved.capabilities),
    maxIterations: saved.maxIterations === null ? "" : String(saved.maxIterations),
  };
}

/** What is wrong with a draft before it is even sent, by field. */
export function definitionProblems(
  draft: DefinitionDraft,
): Partial<Record<keyof DefinitionDraft, string>> {
  const iterations = iterationsProblem(draft.maxIterations);
  const capabilities = capabilityProblem(draft.capabilities);
  return {
    ...(iterations ? { maxIterations: iterations } : {}),
    ...(capabilities ? { capabilities } : {}),
  };
}

/** What is wrong with the name of something new; the names of what exists are fixed, and may be older than the rule. */
export function nameProblem(name: string): { name?: string } {
  if (name.trim() === "" || /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name.trim())) return {};
  return {
    name: "Use the letters a to z, digits, dots, hyphens and underscores, and begin with a letter or a digit.",
  };
}

/** The name that a display name suggests: "My Agent!" is my-agent. */
export function suggestedName(displayName: string): string {
  return displayName
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 100)
    .replace(/^-|-$/g, "");
}

/** A new draft with another display name. The name follows it until somebody types one. */
export function withDisplayName<Draft extends DefinitionDraft>(
  draft: Draft,
  displayName: string,
): Draft {
  const follows = draft.name === "" || draft.name === suggestedName(draft.displayName);
  return { ...draft, displayName, name: follows ? suggestedName(displayName) : draft.name };
}

export function definitionInput(draft: DefinitionDraft) {
  return {
    name: draft.name.trim(),
    displayName: draft.displayName.trim() || null,
    description: draft.description.trim() || null,
    systemPrompt: draft.systemPrompt,
    capabilities: capabilityInputs(draft.capabilities),
    defaultModelId: draft.modelId || null,
    fallbackModelIds: draft.fallbackModelIds,
    maxIterations: iterationsOf(draft.maxIterations),
  };
}

export const FIELD_LABELS: Record<keyof DefinitionDraft, string> = {
  name: "ID",
  displayName: "Name",
  description: "Description",
  modelId: "Model",
  fallbackModelIds: "Fallback models",
  systemPrompt: "System prompt",
  capabilities: "Capabilities",
  maxIterations: "Max iterations",
};

/** What the API calls a field of a form. */
export function inputName(field: string): string {
  return field === "modelId" ? "defaultModelId" : field;
}
