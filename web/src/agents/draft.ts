import type {
  AgentDetailFragment,
  CapabilityRefInput,
  CreateAgentInput,
  UpdateAgentInput,
} from "@/gql/graphql";

/** An agent as the form holds it: every field as text that a control can show, valid or not. */
export interface AgentDraft {
  name: string;
  displayName: string;
  description: string;
  harnessId: string;
  modelId: string;
  systemPrompt: string;
  /** In the order in which they were picked; it decides the order of their prompts. */
  capabilities: DraftCapability[];
  /** Separated by commas. */
  tags: string;
  maxIterations: string;
}

export interface DraftCapability {
  id: string;
  /** JSON as it is typed; empty for none. */
  config: string;
}

export const emptyDraft: AgentDraft = {
  name: "",
  displayName: "",
  description: "",
  harnessId: "",
  modelId: "",
  systemPrompt: "",
  capabilities: [],
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
    systemPrompt: agent.systemPrompt,
    capabilities: agent.capabilities.map(({ id, config }) => ({
      id,
      config: config === null || config === undefined ? "" : JSON.stringify(config, null, 2),
    })),
    tags: agent.tags.join(", "),
    maxIterations: agent.maxIterations === null ? "" : String(agent.maxIterations),
  };
}

/** What is wrong with a draft before it is even sent, by field. */
export function draftProblems(draft: AgentDraft): Partial<Record<keyof AgentDraft, string>> {
  const problems: Partial<Record<keyof AgentDraft, string>> = {};
  if (draft.maxIterations !== "" && !/^[1-9]\d{0,6}$/.test(draft.maxIterations.trim())) {
    problems.maxIterations = "Give a whole number above zero, or leave it empty to inherit it.";
  }
  const broken = draft.capabilities.filter(({ config }) => parseConfig(config) === BROKEN);
  if (broken.length > 0) {
    problems.capabilities = `The settings of ${broken.map(({ id }) => id).join(", ")} are not JSON.`;
  }
  return problems;
}

export function createInput(draft: AgentDraft): CreateAgentInput {
  return {
    name: draft.name.trim(),
    displayName: draft.displayName.trim() || null,
    description: draft.description.trim() || null,
    harnessId: draft.harnessId || null,
    systemPrompt: draft.systemPrompt,
    capabilities: capabilityInputs(draft),
    defaultModelId: draft.modelId || null,
    maxIterations: iterationsOf(draft),
    tags: tagsOf(draft),
  };
}

/** The name is not in it: it is fixed once an agent exists. */
export function updateInput(draft: AgentDraft, revision: number): UpdateAgentInput {
  const { name: _fixed, ...input } = createInput(draft);
  return { ...input, revision };
}

function tagsOf(draft: AgentDraft): string[] {
  const tags = draft.tags.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

function iterationsOf(draft: AgentDraft): number | null {
  const text = draft.maxIterations.trim();
  return text === "" ? null : Number(text);
}

const BROKEN = Symbol("broken");

function parseConfig(config: string): unknown {
  if (config.trim() === "") return null;
  try {
    return JSON.parse(config) as unknown;
  } catch {
    return BROKEN;
  }
}

function capabilityInputs(draft: AgentDraft): CapabilityRefInput[] {
  return draft.capabilities.map(({ id, config }) => {
    const parsed = parseConfig(config);
    return { id, config: parsed === BROKEN ? null : parsed };
  });
}

export function sameDraft(left: AgentDraft, right: AgentDraft): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

export interface Rebase {
  draft: AgentDraft;
  /** Fields that both changed; the draft holds mine. */
  clashes: (keyof AgentDraft)[];
}

/**
 * Brings my changes onto what someone else has saved meanwhile: fields that I left alone take their value, the others
 * keep mine, so that no input is lost.
 */
export function rebaseDraft(base: AgentDraft, mine: AgentDraft, theirs: AgentDraft): Rebase {
  const draft = { ...theirs };
  const clashes: (keyof AgentDraft)[] = [];
  const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
  const keepMine = <Key extends keyof AgentDraft>(key: Key) => {
    if (same(base[key], mine[key])) return;
    draft[key] = mine[key];
    if (!same(base[key], theirs[key]) && !same(mine[key], theirs[key])) clashes.push(key);
  };
  for (const key of Object.keys(base) as (keyof AgentDraft)[]) keepMine(key);
  return { draft, clashes };
}
