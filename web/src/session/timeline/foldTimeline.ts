import { waitingFor } from "@/waits/words";
import { type EventOf, type SessionEvent, wasDenied } from "../feed/event";
import { textOf } from "../feed/messages";
import { TimelineBuilder } from "./builder";
import type { Mark, Span, TimelineTurn } from "./model";

/**
 * The turns of a session as stretches of time, from its durable events. It is pure. Turns are numbered only in a log that
 * goes back to the beginning.
 */
export function timelineOf(log: readonly SessionEvent[], complete = true): TimelineTurn[] {
  const builder = new TimelineBuilder();
  for (const event of log) add(builder, event);
  return builder.turns(complete);
}

function add(builder: TimelineBuilder, event: SessionEvent): void {
  const { turnId } = event;
  const at = timeOf(event);
  switch (event.__typename) {
    case "SessionStarted":
      if (event.forkedFromId !== null) builder.inherit(at);
      return;
    case "MessageReceived":
    case "MessageEdited":
      builder.hear(event.message.id, previewOf(event.message));
      return;
    case "TurnQueued":
      if (turnId !== null) builder.queue(turnId, at);
      return;
    case "TurnStarted":
      if (turnId !== null) builder.begin(turnId, at, event.inputMessageId);
      return;
    case "TurnWaiting":
      builder.change(turnId, (turn) => {
        turn.status = "waiting";
        const what = [...new Set(event.waits.map(waitingFor))].join(", ");
        const label = `Waiting for ${what || "something"}`;
        builder.open(turn, { id: event.id, kind: "wait", depth: 1, label, start: at });
      });
      return;
    case "TurnResumed":
      builder.change(turnId, (turn) => {
        turn.status = "running";
        builder.close(turn, at, "ok", ({ kind }) => kind === "wait");
      });
      return;
    case "TurnCompleted":
      builder.change(turnId, (turn) => {
        builder.end(turn, at, "completed");
        turn.stopReason = event.stopReason;
        turn.usage = { ...turn.usage, firstTokenMs: event.timeToFirstTokenMs };
      });
      return;
    case "TurnFailed":
      builder.change(turnId, (turn) => builder.end(turn, at, "failed"));
      return;
    case "TurnSealed":
      builder.change(turnId, (turn) => {
        builder.end(turn, at, "sealed");
        turn.stopReason = event.stopReason;
      });
      return;
    case "TurnCancelled":
      builder.change(turnId, (turn) => {
        const words = event.cancelReason ? `Cancelled: ${event.cancelReason}` : "Cancelled";
        builder.mark(turn, { kind: "cancelled", at, words });
        builder.end(turn, at, "cancelled");
      });
      return;
    default:
      addStep(builder, event, at);
  }
}

function addStep(builder: TimelineBuilder, event: SessionEvent, at: number): void {
  const { turnId } = event;
  switch (event.__typename) {
    case "ReasonStarted":
      builder.change(turnId, (turn) => {
        const label = `Step ${event.iteration}: model`;
        builder.open(turn, { id: event.id, kind: "reason", depth: 1, label, start: at });
      });
      return;
    case "ReasonCompleted":
      builder.change(turnId, (turn) => {
        builder.close(turn, at, event.success ? "ok" : "failed", ({ kind }) => kind === "reason");
      });
      return;
    case "ReasonRecovered":
      mark(builder, event, {
        kind: "recovered",
        at,
        words:
          event.policy === "FINALIZE"
            ? "The server stopped: the text so far was kept"
            : "The server stopped: the model was called again",
      });
      return;
    case "GenerationRecorded":
      addCall(builder, event, at);
      return;
    case "ActStarted":
      builder.change(turnId, (turn) => {
        const label = `Step ${event.iteration}: tools`;
        builder.open(turn, { id: event.id, kind: "act", depth: 1, label, start: at });
      });
      return;
    case "ActCompleted":
      builder.change(turnId, (turn) => {
        builder.close(turn, at, "ok", ({ kind }) => kind === "act");
      });
      return;
    case "ToolStarted":
      builder.change(turnId, (turn) => {
        const { toolCallId: id, displayName: label } = event;
        builder.open(turn, { id, kind: "tool", depth: 2, label, start: at });
      });
      return;
    case "ToolCompleted":
      builder.change(turnId, (turn) => {
        const state = event.success ? "ok" : wasDenied(event) ? "denied" : "failed";
        const own = (span: Span) => span.kind === "tool" && span.id === event.toolCallId;
        const span = builder.close(turn, at, state, own);
        // What the tool took, as its card says: the event also waits to be stored.
        if (span) span.end = span.start + event.durationMs;
      });
      return;
    case "ApprovalRequested":
      builder.change(turnId, (turn) => {
        const label = `Approval of ${event.displayName}`;
        builder.open(turn, { id: event.waitId, kind: "approval", depth: 2, label, start: at });
      });
      return;
    case "ApprovalDecided":
      builder.change(turnId, (turn) => {
        const words = decisionWords(event);
        builder.mark(turn, { kind: "decided", at, words }, event.waitId);
        if (event.outcome === "PENDING") return;
        const state = event.outcome === "APPROVED" ? "ok" : "failed";
        builder.close(turn, at, state, ({ id }) => id === event.waitId);
      });
      return;
    case "ToolCallRepaired":
      mark(builder, event, {
        kind: "repaired",
        at,
        words: `Fixed malformed arguments of ${event.toolName}`,
      });
      return;
    case "TranscriptRepaired":
      mark(builder, event, {
        kind: "repaired",
        at,
        words: `Filled in the missing result of ${event.toolName}`,
      });
      return;
    case "ContextCompacted":
      mark(builder, event, {
        kind: "compacted",
        at,
        words:
          event.throughSequence < event.fromSequence
            ? "The model was shown the complete conversation again"
            : `The model was not shown the messages of events ${event.fromSequence}–${event.throughSequence}`,
      });
      return;
    case "HookRan":
      builder.change(turnId, (turn) => {
        builder.mark(turn, { kind: "hook", at, words: hookWords(event) }, event.hookCallId);
      });
      return;
    default:
    // All else takes no time and is worth no mark.
  }
}

function addCall(builder: TimelineBuilder, event: EventOf<"GenerationRecorded">, at: number): void {
  builder.change(event.turnId, (turn) => {
    const span = builder.open(turn, {
      id: event.id,
      kind: "model",
      depth: 2,
      label: event.model,
      // It is recorded when it is over.
      start: at - event.durationMs,
    });
    span.end = at;
    span.state = event.finishReason === "interrupted" ? "interrupted" : "ok";
    span.usage = {
      inputTokens: event.usage.inputTokens,
      outputTokens: event.usage.outputTokens,
      costUsd: event.usage.costUsd,
      firstTokenMs: event.timeToFirstTokenMs,
      estimated: event.estimated,
    };
    if (event.retries > 0) {
      const words =
        event.retries === 1 ? "1 earlier call failed" : `${event.retries} earlier calls failed`;
      span.marks.push({ kind: "retry", at: span.start, words });
    }
    builder.addUsage(turn, span.usage);
  });
}

function mark(builder: TimelineBuilder, event: SessionEvent, mark: Mark): void {
  builder.change(event.turnId, (turn) => builder.mark(turn, mark));
}

function decisionWords({ outcome, note }: EventOf<"ApprovalDecided">): string {
  const words: Record<string, string> = {
    APPROVED: "Approved",
    DENIED: "Denied",
    EXPIRED: "Expired before anyone decided",
    PENDING: "Approved; more approvals needed",
  };
  return `${words[outcome] ?? outcome}${note ? `: ${note}` : ""}`;
}

function hookWords(event: EventOf<"HookRan">): string {
  const { hookId, event: on, decision, hookReason, hookError } = event;
  const detail = hookError ?? hookReason;
  return `Hook ${hookId} on ${on}: ${decision}${detail ? ` (${detail})` : ""}`;
}

/** More than any line shows. */
const PREVIEW_CHARACTERS = 200;

function previewOf(message: EventOf<"MessageReceived">["message"]): string {
  return textOf(message, "TextPart").replaceAll(/\s+/g, " ").slice(0, PREVIEW_CHARACTERS);
}

function timeOf(event: SessionEvent): number {
  return new Date(event.occurredAt).getTime();
}
