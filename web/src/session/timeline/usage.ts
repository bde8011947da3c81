import { addDecimals } from "@/money/decimal";
import type { SpanUsage } from "./model";

export const noUsage: SpanUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: "0",
  firstTokenMs: null,
  estimated: false,
};

export function addUsage(one: SpanUsage, other: SpanUsage): SpanUsage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    costUsd:
      one.costUsd === null || other.costUsd === null
        ? null
        : addDecimals(one.costUsd, other.costUsd),
    firstTokenMs: one.firstTokenMs ?? other.firstTokenMs,
    estimated: one.estimated || other.estimated,
  };
}
