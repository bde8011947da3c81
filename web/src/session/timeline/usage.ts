import { noUsage as noTotals } from "../feed/state";
import { addUsage as addTotals } from "../feed/usage";
import type { SpanUsage } from "./model";

export const noUsage: SpanUsage = { ...noTotals, firstTokenMs: null, estimated: false };

export function addUsage(one: SpanUsage, other: SpanUsage): SpanUsage {
  return {
    ...addTotals(one, other),
    firstTokenMs: one.firstTokenMs ?? other.firstTokenMs,
    estimated: one.estimated || other.estimated,
  };
}
