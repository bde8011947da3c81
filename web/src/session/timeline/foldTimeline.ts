import { waitingFor } from "@/waits/words";
import { type EventOf, type SessionEvent, wasDenied } from "../feed/event";
import { withFeedback } from "../feed/feedback";
import { textOf } from "../feed/messages";
import { TimelineBuilder } from "./builder";
import type { Mark, Span, TimelineTurn } from "./model";
import { addUsage } from "./usage";

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
        turn.waits.push({ start: at, end: null });
        // Approvals have told of themselves.
        const waits = event.waits.filter(({ id }) => turn.spans.every((span) => span.id !== id));
        if (waits.length === 0 && event.waits.length > 0) return;
        const what = [...new Set(waits.map(waitingFor))].join(", ");
        const label = `Waiting for ${what || "something"}`;
        builder.open(turn, event, { id: event.id, kind: "wait", label, start: at });
      });
      return;
    case "TurnResumed":
      builder.change(turnId, (turn) => {
        turn.status = "running";
        const wait = turn.waits.at(-1);
        if (wait) wait.end ??= at;
        builder.close(turn, event, at, "ok", ({ kind }) => kind === "wait");
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
      builder.change(turnId, (turn) => builder.fail(turn, at, "failed", event.error));
      return;
    case "TurnSealed":
      builder.change(turnId, (turn) => {
        builder.fail(turn, at, "sealed", event.error);
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
    case "TurnRated":
      builder.change(turnId, (turn) => {
        turn.feedback = withFeedback(turn.feedback, event);
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
        const { id, iteration } = event;
        builder.open(turn, event, { id, kind: "model", label: "Model call", start: at, iteration });
      });
      return;
    case "OutputStarted":
      builder.change(turnId, (turn) => {
        const span = builder.span(turn, event, isModelCall);
        if (span) span.detail = event.model;
      });
      return;
    case "OutputCompleted":
      builder.change(turnId, (turn) => {
        const span = builder.span(turn, event, isModelCall);
        if (span) span.failure = event.message.error;
      });
      return;
    case "ThinkingCompleted":
      builder.change(turnId, (turn) => void builder.span(turn, event, isModelCall));
      return;
    case "ReasonCompleted":
      builder.change(turnId, (turn) => {
        builder.close(turn, event, at, event.success ? "ok" : "failed", isModelCall);
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
      addCall(builder, event);
      return;
    case "ToolStarted":
      builder.change(turnId, (turn) => {
        const { toolCallId: id, displayName: label } = event;
        builder.open(turn, event, { id, kind: "tool", label, detail: "Tool call", start: at });
      });
      return;
    case "ToolCompleted":
      builder.change(turnId, (turn) => {
        const state = event.success ? "ok" : wasDenied(event) ? "denied" : "failed";
        const own = (span: Span) => span.kind === "tool" && span.id === event.toolCallId;
        const span = builder.close(turn, event, at, state, own);
        // What the tool took, as its card says: the event also waits to be stored.
        if (span) span.end = span.start + event.durationMs;
      });
      return;
    case "ApprovalRequested":
      builder.change(turnId, (turn) => {
        const label = `Waiting for approval of ${event.displayName}`;
        builder.open(turn, event, { id: event.waitId, kind: "approval", label, start: at });
      });
      return;
    case "ApprovalDecided":
      builder.change(turnId, (turn) => {
        const own = ({ id }: Span) => id === event.waitId;
        builder.mark(turn, { kind: "decided", at, words: decisionWords(event) }, event.waitId);
        if (event.outcome === "PENDING") {
          builder.span(turn, event, own);
          return;
        }
        const denied = event.outcome === "DENIED" ? "denied" : "failed";
        builder.close(turn, event, at, event.outcome === "APPROVED" ? "ok" : denied, own);
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
      addHook(builder, event, at);
      return;
    default:
    // All else takes no time and is worth no mark.
  }
}

const isModelCall = ({ kind }: Span) => kind === "model";

/** A step is one line, however often the model was called before it answered. */
function addCall(builder: TimelineBuilder, event: EventOf<"GenerationRecorded">): void {
  builder.change(event.turnId, (turn) => {
    const usage = {
      ...event.usage,
      firstTokenMs: event.timeToFirstTokenMs,
      estimated: event.estimated,
    };
    turn.usage = addUsage(turn.usage, { ...usage, firstTokenMs: null });
    const span = builder.span(turn, event, isModelCall);
    if (!span) return;
    span.detail = event.model;
    if (usage.firstTokenMs !== null) {
      // It is recorded when the call is over, and counts from the beginning of the call.
      usage.firstTokenMs =
        Math.max(0, timeOf(event) - event.durationMs - span.start) + usage.firstTokenMs;
    }
    span.usage = span.usage ? addUsage(span.usage, usage) : usage;
    if (event.retries > 0) {
      const words =
        event.retries === 1 ? "1 earlier call failed" : `${event.retries} earlier calls failed`;
      span.marks.push({ kind: "retry", at: span.start, words });
    }
  });
}

function addHook(builder: TimelineBuilder, event: EventOf<"HookRan">, at: number): void {
  builder.change(event.turnId, (turn) => {
    const { id, hookId, event: on, durationMs, decision, hookError, hookReason } = event;
    const span = builder.open(turn, event, {
      id,
      kind: "hook",
      label: `Hook ${hookId}`,
      detail: [on, hookError ?? [decision, hookReason].filter(Boolean).join(": ")].join(" · "),
      // It is told of when it is over.
      start: at - durationMs,
    });
    span.end = at;
    span.state = hookError ? "failed" : "ok";
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

/** More than any line shows. */
const PREVIEW_CHARACTERS = 200;

function previewOf(message: EventOf<"MessageReceived">["message"]): string {
  return textOf(message, "TextPart").replaceAll(/\s+/g, " ").slice(0, PREVIEW_CHARACTERS);
}

function timeOf(event: SessionEvent): number {
  return new Date(event.occurredAt).getTime();
}
