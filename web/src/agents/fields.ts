import type { AgentDraft } from "./draft";

export const FIELD_LABELS: Record<keyof AgentDraft, string> = {
  name: "Name",
  displayName: "Display name",
  description: "Description",
  harnessId: "Harness",
  modelId: "Model",
  fallbackModelIds: "Fallback models",
  systemPrompt: "System prompt",
  capabilities: "Capabilities",
  clientTools: "Client tools",
  tags: "Tags",
  maxIterations: "Max iterations",
};

/** What the API calls a field, where that differs from the form. */
export const INPUT_NAMES: Record<keyof AgentDraft, string> = {
  name: "name",
  displayName: "displayName",
  description: "description",
  harnessId: "harnessId",
  modelId: "defaultModelId",
  fallbackModelIds: "fallbackModelIds",
  systemPrompt: "systemPrompt",
  capabilities: "capabilities",
  clientTools: "clientTools",
  tags: "tags",
  maxIterations: "maxIterations",
};
