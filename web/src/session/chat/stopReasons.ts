import type { StopReason } from "@/gql/graphql";

const WORDS: Record<StopReason, string> = {
  END_TURN: "the answer is complete",
  MAX_TOKENS: "the answer reached its length limit",
  REFUSAL: "the model refused to answer",
  ITERATION_LIMIT: "it reached the step limit",
  BUDGET: "too little is left of its budget",
  NO_PROGRESS: "it made no progress",
  ERROR: "something failed",
  CANCELLED: "it was cancelled",
  BLOCKED: "a hook blocked it",
  DEPENDENCY: "something it depends on is gone",
};

/** Why a turn ended, as part of a sentence. */
export function stopWords(reason: StopReason): string {
  // A newer server may know more reasons.
  return WORDS[reason] ?? String(reason).toLowerCase().replaceAll("_", " ");
}

/** Whether a turn that was stopped for this reason would go on if it were told to. */
export function canContinue(reason: StopReason): boolean {
  return reason === "ITERATION_LIMIT" || reason === "NO_PROGRESS";
}
