import type { UsageFieldsFragment } from "@/gql/graphql";
import { addDecimals } from "./decimal";
import { type EventOf, isEphemeral, type SessionEvent } from "./event";
import {
  appendItem,
  changeAgentItem,
  changeToolItem,
  closeItemsOfTurn,
  moveInputToEnd,
} from "./items";
import type { MessageImage, NoticeItem, Retry, SessionState, UsageTotals } from "./state";
import { endTurn, queueTurn, startTurn } from "./turns";

/**
 * The session after one more event. It is pure: the same events give the same page, whether they came live, in
 * a replay or twice. A durable event that was seen before returns the very same state.
 */
export function foldEvent(state: SessionState, event: SessionEvent): SessionState {
  if (isEphemeral(event) || event.sequence === null) return apply(state, event);
  if (event.sequence <= state.lastSequence) return state;
  return { ...apply(state, event), lastSequence: event.sequence };
}

function apply(state: SessionState, event: SessionEvent): SessionState {
  switch (event.__typename) {
    case "MessageReceived":
      return receiveMessage(state, event);
    case "SessionStarted":
      return { ...state, status: "STARTED" };
    case "SessionActivated":
      return { ...state, status: "ACTIVE" };
    case "SessionIdled":
      return { ...state, status: "IDLE" };
    case "SessionTitleChanged":
      return { ...state, title: event.title };
    case "SessionModelChanged":
      return { ...state, configVersion: state.configVersion + 1 };
    case "TurnQueued":
      return event.turnId === null ? state : queueTurn(state, event.turnId);
    case "TurnStarted":
      return beginTurn(state, event);
    case "TurnCompleted":
    case "TurnFailed":
    case "TurnSealed":
      return finishTurn(state, event);
    case "ReasonRecovered":
      return appendItem(state, {
        kind: "notice",
        ...noticeHead(event),
        notice: { type: "recovered", recoveries: event.recoveries },
      });
    case "OutputStarted":
      return changeAgentItem(state, event.messageId, position(event), (item) => ({
        ...item,
        model: event.model,
      }));
    case "OutputDelta":
      return changeAgentItem(state, event.messageId, position(event), (item) => {
        if (item.state !== "streaming") return item;
        const text = splice(item.text, event);
        return text === null
          ? item
          : { ...item, text, thinkingDone: true, retry: leftOf(item.retry, event) };
      });
    case "ThinkingDelta":
      return changeAgentItem(state, event.messageId, position(event), (item) => {
        if (item.state !== "streaming") return item;
        const thinking = splice(item.thinking, event);
        return thinking === null
          ? item
          : { ...item, thinking, thinkingDone: false, retry: leftOf(item.retry, event) };
      });
    case "GenerationRetrying":
      return changeAgentItem(state, event.messageId, position(event), (item) =>
        item.state === "streaming" ? { ...item, retry: retryOf(event) } : item,
      );
    case "ThinkingCompleted":
      return changeAgentItem(state, event.messageId, position(event), (item) => ({
        ...item,
        thinking: event.text,
        thinkingDone: true,
        retry: null,
      }));
    case "OutputCompleted":
      return completeOutput(state, event);
    case "GenerationRecorded":
      return { ...state, usage: addUsage(state.usage, event.usage) };
    case "ToolStarted":
      return changeToolItem(state, event.toolCallId, event.toolName, position(event), (item) => ({
        ...item,
        displayName: event.displayName,
        arguments: event.arguments,
        narration: event.narration ?? item.narration,
      }));
    case "ToolProgress":
      return changeToolItem(state, event.toolCallId, event.toolName, position(event), (item) =>
        item.state === "running" ? { ...item, progress: event.progress } : item,
      );
    case "ToolCompleted":
      return completeTool(state, event);
    case "FileWritten":
      return { ...state, filesVersion: state.filesVersion + 1 };
    case "CaughtUp":
      return state.caughtUp ? state : { ...state, caughtUp: true };
    default:
      // The rest, and kinds of newer servers, are for the raw log only; they still move the sequence.
      return state;
  }
}

function position(event: SessionEvent) {
  return { turnId: event.turnId, at: event.occurredAt };
}

function noticeHead(event: SessionEvent) {
  return { id: event.id, ...position(event) };
}

/**
 * `text[0:offset] + delta`, in UTF-16 units as JavaScript counts them. A piece that begins beyond what is here
 * has lost the piece before it; null leaves the text alone until a restart or the completed message heals it.
 */
function splice(text: string, piece: { offset: number; delta: string }): string | null {
  if (piece.offset > text.length) return null;
  return text.slice(0, piece.offset) + piece.delta;
}

/** A piece without text takes failed text back; only one with text shows that the next try got through. */
function leftOf(retry: Retry | null, piece: { delta: string }): Retry | null {
  return piece.delta === "" ? retry : null;
}

/** Whether the agent's last message of the turn carries its failure. */
function wasTold(state: SessionState, turnId: string, code: string): boolean {
  const last = state.items.findLast((item) => item.turnId === turnId && item.kind === "agent");
  return last?.kind === "agent" && last.error?.code === code;
}

function textOf(message: EventOf<"MessageReceived">["message"], part: "TextPart" | "ThinkingPart") {
  return message.content
    .map((content) => (content.__typename === part && "text" in content ? content.text : ""))
    .filter((text) => text !== "")
    .join("\n\n");
}

function receiveMessage(state: SessionState, event: EventOf<"MessageReceived">): SessionState {
  const { message } = event;
  return appendItem(state, {
    kind: "user",
    id: message.id,
    ...position(event),
    text: textOf(message, "TextPart"),
    images: imagesOf(message),
  });
}

function imagesOf(message: EventOf<"MessageReceived">["message"]): MessageImage[] {
  return message.content.flatMap((part) =>
    part.__typename === "ImagePart" ? [{ imageId: part.imageId, url: part.url }] : [],
  );
}

function retryOf(event: EventOf<"GenerationRetrying">): Retry {
  const { model, nextModel, code, problem, attempt, delayMs, occurredAt } = event;
  return { model, nextModel, code, message: problem, attempt, delayMs, at: occurredAt };
}

function beginTurn(state: SessionState, event: EventOf<"TurnStarted">): SessionState {
  if (event.turnId === null) return state;
  const wasQueued = state.queuedTurnIds.includes(event.turnId);
  const started = startTurn(state, event.turnId, event.occurredAt);
  return wasQueued ? moveInputToEnd(started, event.turnId, event.inputMessageId) : started;
}

function finishTurn(
  state: SessionState,
  event: EventOf<"TurnCompleted"> | EventOf<"TurnFailed"> | EventOf<"TurnSealed">,
): SessionState {
  if (event.turnId === null) return state;
  const closed = closeItemsOfTurn(state, event.turnId);
  const end = (status: "completed" | "failed" | "sealed", notice: NoticeItem["notice"]) =>
    appendItem(endTurn(closed, event.turnId as string, status, event.occurredAt), {
      kind: "notice",
      ...noticeHead(event),
      notice,
    });
  switch (event.__typename) {
    case "TurnCompleted":
      return end("completed", {
        type: "completed",
        stopReason: event.stopReason,
        durationMs: event.durationMs,
        timeToFirstTokenMs: event.timeToFirstTokenMs,
        iterations: event.iterations,
        usage: event.usage,
      });
    case "TurnFailed":
      return end("failed", {
        type: "failed",
        failure: event.error,
        told: wasTold(state, event.turnId, event.error.code),
      });
    case "TurnSealed":
      return end("sealed", {
        type: "sealed",
        stopReason: event.stopReason,
        failure: event.error,
      });
  }
}

function completeOutput(state: SessionState, event: EventOf<"OutputCompleted">): SessionState {
  const { message } = event;
  return changeAgentItem(state, message.id, position(event), (item) => ({
    ...item,
    text: textOf(message, "TextPart"),
    thinking: textOf(message, "ThinkingPart") || item.thinking,
    thinkingDone: true,
    images: imagesOf(message),
    retry: null,
    state: "complete",
    error: message.error,
  }));
}

function completeTool(state: SessionState, event: EventOf<"ToolCompleted">): SessionState {
  const changed = changeToolItem(
    state,
    event.toolCallId,
    event.toolName,
    position(event),
    (item) => ({
      ...item,
      state: event.success ? "succeeded" : "failed",
      result: event.result,
      error: event.toolError,
      durationMs: event.durationMs,
      narration: event.narration ?? item.narration,
      progress: null,
    }),
  );
  if (event.toolName !== "write_todos") return changed;
  return { ...changed, todosVersion: state.todosVersion + 1 };
}

function addUsage(total: UsageTotals, usage: UsageFieldsFragment): UsageTotals {
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
