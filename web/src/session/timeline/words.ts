import { formatCost } from "@/money/amounts";
import { formatCount, formatDateTime, formatDuration } from "@/ui/format";
import { stopWords } from "../chat/stopReasons";
import type { Mark, Span, SpanUsage, TimelineTurn } from "./model";
import { addUsage } from "./usage";

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

/** What turns took in all. */
export function totalUsage(turns: readonly TimelineTurn[]): SpanUsage | null {
  return turns.reduce<SpanUsage | null>(
    (total, { usage }) => (total ? addUsage(total, usage) : usage),
    null,
  );
}

/** How often a turn did something of each kind, and how long that took. */
export function kindTotals(turn: TimelineTurn, now: number) {
  const kinds: [words: string, kinds: Span["kind"][]][] = [
    ["Model calls", ["model"]],
    ["Tool calls", ["tool"]],
    ["Waiting", ["wait", "approval"]],
    ["Hooks", ["hook"]],
  ];
  return kinds.flatMap(([words, which]) => {
    const spans = turn.spans.filter(({ kind }) => which.includes(kind));
    const took = spans.reduce((sum, { start, end }) => sum + Math.max(0, (end ?? now) - start), 0);
    return spans.length === 0 ? [] : [{ words, count: spans.length, took }];
  });
}

export function turnFacts(turn: TimelineTurn, now: number): string[] {
  const queued = turn.queuedAt === null ? 0 : turn.start - turn.queuedAt;
  const { firstTokenMs } = turn.usage;
  return [
    `Started ${formatDateTime(turn.start)}`,
    queued > 0 ? `after ${formatDuration(queued)} in the queue` : "",
    `took ${tookWords(turn, now)}`,
    firstTokenMs === null ? "" : `first token after ${formatDuration(firstTokenMs)}`,
    turn.usage.estimated ? "partly estimated" : "",
    turn.inherited ? "from the session this one was forked from" : "",
  ].filter((fact) => fact !== "");
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

/** What a short badge says of the feedback on a turn; empty where there is none. */
export function feedbackBadge({ feedback }: TimelineTurn): string {
  const down = feedback.some(({ rating }) => rating === "DOWN");
  return down ? "rated down" : feedback.length > 0 ? "rated up" : "";
}

const MARKS: Partial<Record<Mark["kind"], string>> = {
  retry: "retried",
  recovered: "restarted",
  repaired: "repaired",
  compacted: "shortened",
};

/** What short badges say of marks, in the order in which they first came. All else the state of the call or the turn says. */
export function markBadges(marks: readonly Mark[]): string[] {
  return [...new Set(marks.flatMap(({ kind }) => MARKS[kind] ?? []))];
}
