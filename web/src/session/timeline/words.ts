import { formatCost } from "@/money/amounts";
import { formatCount, formatDuration } from "@/ui/format";
import { stopWords } from "../chat/stopReasons";
import type { Mark, Span, SpanUsage, TimelineTurn } from "./model";

const STATUSES: Record<TimelineTurn["status"], string> = {
  running: "running",
  waiting: "waiting",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  sealed: "stopped",
};

export function turnTitle(turn: TimelineTurn): string {
  const name = turn.number === null ? "Turn" : `Turn ${turn.number}`;
  return turn.preview ? `${name}: ${turn.preview}` : name;
}

export function statusWords({ status, stopReason }: TimelineTurn): string {
  if (stopReason === null || stopReason === "END_TURN") return STATUSES[status];
  return `${STATUSES[status]}: ${stopWords(stopReason)}`;
}

const SPAN_STATES: Record<Span["state"], string> = {
  open: "in progress",
  ok: "done",
  failed: "failed",
  denied: "denied",
  interrupted: "interrupted",
};

/** How a span stands; a wait does not succeed, it is just over. */
export function spanState({ kind, state }: Span): string {
  if (state === "ok" && kind === "wait") return "over";
  if (kind === "approval" && state === "ok") return "approved";
  if (kind === "approval" && state === "failed") return "not approved";
  return SPAN_STATES[state];
}

/** Empty for a call that was denied: it took no time. */
export function tookWords({ start, end, ...of }: Span | TimelineTurn, now: number): string {
  if ("state" in of && of.state === "denied") return "";
  return formatDuration(Math.max(0, (end ?? now) - start));
}

export function tokenWords(usage: SpanUsage | null): string {
  if (usage === null) return "";
  const tokens = usage.inputTokens + usage.outputTokens;
  if (tokens === 0) return "";
  return `${usage.estimated ? "≈ " : ""}${formatCount(tokens)}`;
}

export function costWords(usage: SpanUsage | null): string {
  if (usage === null || usage.inputTokens + usage.outputTokens === 0) return "";
  return `${usage.estimated ? "≈ " : ""}${formatCost(usage.costUsd)}`;
}

/** What short badges say of marks, in the order in which they first came. */
export function markBadges(marks: readonly Mark[]): string[] {
  const counts = new Map<string, number>();
  for (const { kind } of marks) {
    // That, the badge of the turn's or the step's own state says.
    if (kind !== "cancelled") counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => badge(kind as Mark["kind"], count));
}

function badge(kind: Mark["kind"], count: number): string {
  switch (kind) {
    case "retry":
      return "retried";
    case "recovered":
      return "restarted";
    case "hook":
      return count === 1 ? "1 hook" : `${count} hooks`;
    case "cancelled":
      return "cancelled";
    case "repaired":
      return "repaired";
    case "compacted":
      return "shortened";
    case "decided":
      return count === 1 ? "decided" : `${count} decisions`;
  }
}
