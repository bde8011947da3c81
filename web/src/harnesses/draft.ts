import {
  capabilityInputs,
  capabilityProblem,
  type DraftCapability,
  draftCapabilities,
} from "@/catalog/capabilities";
import { iterationsOf, iterationsProblem } from "@/catalog/iterations";
import type {
  CreateHarnessInput,
  HarnessDetailFragment,
  StreamRecovery,
  UpdateHarnessInput,
} from "@/gql/graphql";

/** A harness as the form holds it: every field as text that a control can show, valid or not. */
export interface HarnessDraft {
  name: string;
  displayName: string;
  description: string;
  /** Fixed once a harness exists; empty for none. */
  parentId: string;
  modelId: string;
  fallbackModelIds: string[];
  systemPrompt: string;
  capabilities: DraftCapability[];
  maxIterations: string;
  /** A StreamRecovery; empty for what the parent says. */
  streamRecovery: string;
}

const RECOVERIES: readonly StreamRecovery[] = ["RESTART", "FINALIZE"];

export const emptyHarness: HarnessDraft = {
  name: "",
  displayName: "",
  description: "",
  parentId: "",
  modelId: "",
  fallbackModelIds: [],
  systemPrompt: "",
  capabilities: [],
  maxIterations: "",
  streamRecovery: "",
};

export function draftOf(harness: HarnessDetailFragment): HarnessDraft {
  return {
    name: harness.name,
    displayName: harness.displayName,
    description: harness.description ?? "",
    parentId: harness.parent?.id ?? "",
    modelId: harness.defaultModel?.id ?? "",
    fallbackModelIds: harness.fallbackModels.map(({ id }) => id),
    systemPrompt: harness.systemPrompt ?? "",
    capabilities: draftCapabilities(harness.capabilities),
    maxIterations: harness.maxIterations === null ? "" : String(harness.maxIterations),
    streamRecovery: harness.streamRecovery ?? "",
  };
}

/** What is wrong with a draft before it is even sent, by field. */
export function draftProblems(draft: HarnessDraft): Partial<Record<keyof HarnessDraft, string>> {
  const iterations = iterationsProblem(draft.maxIterations);
  const capabilities = capabilityProblem(draft.capabilities);
  return {
    ...(iterations ? { maxIterations: iterations } : {}),
    ...(capabilities ? { capabilities } : {}),
  };
}

export function createInput(draft: HarnessDraft): CreateHarnessInput {
  return {
    name: draft.name.trim(),
    displayName: draft.displayName.trim() || null,
    description: draft.description.trim() || null,
    parentId: draft.parentId || null,
    systemPrompt: draft.systemPrompt || null,
    capabilities: capabilityInputs(draft.capabilities),
    defaultModelId: draft.modelId || null,
    fallbackModelIds: draft.fallbackModelIds,
    maxIterations: iterationsOf(draft.maxIterations),
    streamRecovery: RECOVERIES.find((each) => each === draft.streamRecovery) ?? null,
  };
}

/** Neither the name nor the parent is in it: both are fixed once a harness exists. */
export function updateInput(
  draft: HarnessDraft,
  revision: number,
  reason: string | null,
): UpdateHarnessInput {
  const { name: _name, parentId: _parent, ...input } = createInput(draft);
  return { ...input, revision, reason };
}

export const FIELD_LABELS: Record<keyof HarnessDraft, string> = {
  name: "Name",
  displayName: "Display name",
  description: "Description",
  parentId: "Parent",
  modelId: "Model",
  fallbackModelIds: "Fallback models",
  systemPrompt: "System prompt",
  capabilities: "Capabilities",
  maxIterations: "Max iterations",
  streamRecovery: "Interrupted answers",
};

/** What the API calls a field, where that differs from the form. */
export const INPUT_NAMES: Record<keyof HarnessDraft, string> = {
  name: "name",
  displayName: "displayName",
  description: "description",
  parentId: "parentId",
  modelId: "defaultModelId",
  fallbackModelIds: "fallbackModelIds",
  systemPrompt: "systemPrompt",
  capabilities: "capabilities",
  maxIterations: "maxIterations",
  streamRecovery: "streamRecovery",
};
