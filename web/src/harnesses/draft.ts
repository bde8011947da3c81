import {
  type DefinitionDraft,
  definitionDraft,
  definitionInput,
  emptyDefinition,
  FIELD_LABELS as SHARED_LABELS,
} from "@/definitions/draft";
import type {
  CreateHarnessInput,
  HarnessDetailFragment,
  StreamRecovery,
  UpdateHarnessInput,
} from "@/gql/graphql";

/** A harness as the form holds it. */
export interface HarnessDraft extends DefinitionDraft {
  /** Fixed once a harness exists; empty for none. */
  parentId: string;
  /** A StreamRecovery; empty for what the parent says. */
  streamRecovery: string;
}

const RECOVERIES: readonly StreamRecovery[] = ["RESTART", "FINALIZE"];

export const emptyHarness: HarnessDraft = { ...emptyDefinition, parentId: "", streamRecovery: "" };

export function draftOf(harness: HarnessDetailFragment): HarnessDraft {
  return {
    ...definitionDraft(harness),
    parentId: harness.parent?.id ?? "",
    streamRecovery: harness.streamRecovery ?? "",
  };
}

export function createInput(draft: HarnessDraft): CreateHarnessInput {
  return {
    ...definitionInput(draft),
    parentId: draft.parentId || null,
    systemPrompt: draft.systemPrompt || null,
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
  ...SHARED_LABELS,
  parentId: "Parent",
  streamRecovery: "Interrupted answers",
};
