import { addDecimals } from "@/money/decimal";
import type { UsageTotals } from "./state";

/** The sum of what was used; without a cost as soon as one part has no price. */
export function addUsage(total: UsageTotals, usage: UsageTotals): UsageTotals {
  return {
    inputTokens: total.inputTokens + usage.inputTokens,
    outputTokens: total.outputTokens + usage.outputTokens,
    cacheReadTokens: total.cacheReadTokens + usage.cacheReadTokens,
    cacheWriteTokens: total.cacheWriteTokens + usage.cacheWriteTokens,
    reasoningTokens: total.reasoningTokens + usage.reasoningTokens,
    costUsd:
      total.costUsd === null || usage.costUsd === null
        ? null
        : addDecimals(total.costUsd, usage.costUsd),
  };
}
