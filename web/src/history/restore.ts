import type { CombinedError } from "urql";
import type { UserError } from "@/api/errors";

export interface RestoreAnswer {
  /** The revision that came of it; null when it was refused. */
  revision: number | null;
  refusals: readonly UserError[];
  error: CombinedError | undefined;
}

/** What a mutation that restores has answered. */
export function restoreAnswer(
  payload: { userErrors: readonly UserError[] } | undefined,
  restored: { revision: number } | null | undefined,
  error: CombinedError | undefined,
): RestoreAnswer {
  return { revision: restored?.revision ?? null, refusals: payload?.userErrors ?? [], error };
}
