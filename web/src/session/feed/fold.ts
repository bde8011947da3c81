import { withBudgets } from "./budgets";
import { finishTurn } from "./ends";
import {
  dataText,
  doerOf,
  type EventOf,
  isEphemeral,
  position,
  type SessionEvent,
  wasDenied,
} from "./event";
import { withFeedback } from "./feedback";
import { appendNotice, changeAgentItem, changeToolItem, moveInputToEnd } from "./items";
import { deliver, editMessage, imagesOf, receiveMessage, textOf } from "./messages";
import { noUsage, type Retry, type SessionState } from "./state";
import { beginFork, changeTurn, holdTurn, queueTurn, reorderTurns, startTurn } from "./turns";
import { addUsage } from "./usage";

/**
 * The session after one more event. It is pure: the same events give the same page, whether they came live, in
 * a replay or twice. A durable event that was seen before returns the very same state.
 */
export function foldEvent(state: SessionState, event: SessionEvent): SessionState {
  if (isEphemeral(event) || event.sequence === null) return apply(state, event);
  if (event.sequence <= state.lastSequence) return state;
  return { ...withBudgets(apply(state, event), event), lastSequence: event.sequence };
}

function apply(state: SessionState, event: SessionEvent): SessionState {
  switch (event.__typename) {
    case "MessageReceived":
      return receiveMessage(state, event);
    case "MessageEdited":
      return editMessage(state, event);
    case "SessionStarted":
      return beginSession(state, event);
    case "SessionActivated":
      return { ...state, status: "ACTIVE" };
    case "SessionIdled":
      // What it counted till then lacks the calls of which only the sum tells.
      return { ...state, status: "IDLE", usage: event.usage };
    case "SessionWaiting":
      return { ...state, status: "WAITING" };
    case "SessionPaused":
      return { ...state, status: "PAUSED" };
    case "SessionResumed":
      return { ...state, status: "ACTIVE" };
    case "SessionTitleChanged":
      return { ...state, title: event.title };
    case "SessionModelChanged":
      return { ...state, configVersion: state.configVersion + 1 };
    case "TurnQueued":
      return event.turnId === null ? state : addToQueue(state, event.turnId);
    case "QueueReordered":
      return reorderTurns(state, event.turnIds);
    case "TurnStarted":
      return beginTurn(state, event);
    case "TurnWaiting":
      return event.turnId === null ? state : holdTurn(state, event.turnId, "waiting");
    case "TurnResumed":
      return event.turnId === null ? state : holdTurn(state, event.turnId, "running");
    case "TurnCompleted":
    case "TurnFailed":
    case "TurnSealed":
    case "TurnCancelled":
      return finishTurn(state, event);
    case "TurnRated":
      return rateTurn(state, event);
    case "ApprovalRequested":
    case "ToolCallsRequested":
      return { ...state, waitsVersion: state.waitsVersion + 1 };
    case "ApprovalDecided":
      return decideApproval(state, event);
    case "ReasonStarted":
      return deliver(state);
    case "ReasonRecovered":
      return appendNotice(state, event, {
        type: "recovered",
        recoveries: event.recoveries,
        policy: event.policy,
      });
    case "ContextCompacted":
      return compactContext(state, event);
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
      return recordCall(state, event);
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

function retryOf(event: EventOf<"GenerationRetrying">): Retry {
  const { model, nextModel, code, problem, attempt, delayMs, occurredAt } = event;
  return { model, nextModel, code, message: problem, attempt, delayMs, at: occurredAt };
}

function beginSession(state: SessionState, event: EventOf<"SessionStarted">): SessionState {
  if (event.forkedFromId === null) return { ...state, status: "STARTED" };
  const forked = {
    ...beginFork(state, event.forkedFromId),
    title: dataText(event, "title") ?? undefined,
  };
  // A fork that ends before the first turn has no history to tell from what is new.
  if (forked.items.length === 0) return forked;
  return appendNotice(forked, event, {
    type: "forked",
    fromSessionId: event.forkedFromId,
  });
}

function addToQueue(state: SessionState, turnId: string): SessionState {
  const input = state.items.findLast((item) => item.kind === "user" && item.turnId === turnId);
  return queueTurn(state, turnId, input?.kind === "user" && input.delivery === "INTERRUPT");
}

/** One line says that the agent sees only a part of the conversation, however much more of it is left out later. */
function compactContext(state: SessionState, event: EventOf<"ContextCompacted">): SessionState {
  const complete = event.throughSequence < event.fromSequence;
  const last = state.items.findLast(
    (item) => item.kind === "notice" && item.notice.type === "compacted",
  );
  const before = last?.kind === "notice" && last.notice.type === "compacted" && last.notice;
  if (before ? before.complete === complete : complete) return state;
  return appendNotice(state, event, { type: "compacted", complete });
}

function decideApproval(state: SessionState, event: EventOf<"ApprovalDecided">): SessionState {
  const { waitId, toolName, outcome, approve, note, newArguments } = event;
  const settled = outcome !== "PENDING";
  return appendNotice(
    {
      ...state,
      waitsVersion: state.waitsVersion + 1,
      decidedWaits: settled ? [...state.decidedWaits, waitId] : state.decidedWaits,
    },
    event,
    {
      type: "decided",
      toolName,
      outcome,
      approve,
      note: note || null,
      edited: newArguments !== null,
      by: doerOf(event),
    },
  );
}

function beginTurn(state: SessionState, event: EventOf<"TurnStarted">): SessionState {
  if (event.turnId === null) return state;
  const wasQueued = state.queuedTurnIds.includes(event.turnId);
  const started = startTurn(state, event.turnId, event.inputMessageId, event.occurredAt);
  return wasQueued ? moveInputToEnd(started, event.turnId, event.inputMessageId) : started;
}

function rateTurn(state: SessionState, event: EventOf<"TurnRated">): SessionState {
  const { turnId } = event;
  if (turnId === null) return state;
  const said = withFeedback(state.feedback[turnId] ?? [], event);
  return { ...state, feedback: { ...state.feedback, [turnId]: said } };
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
    state: message.interrupted ? "interrupted" : "complete",
    error: message.error,
  }));
}

function completeTool(state: SessionState, event: EventOf<"ToolCompleted">): SessionState {
  const denied = wasDenied(event);
  const changed = changeToolItem(
    state,
    event.toolCallId,
    event.toolName,
    position(event),
    (item) => ({
      ...item,
      state: event.success ? "succeeded" : denied ? "denied" : "failed",
      result: event.result,
      error: event.toolError,
      durationMs: denied ? null : event.durationMs,
      narration: event.narration ?? item.narration,
      progress: null,
    }),
  );
  // Another call of the step may have begun to wait, which no event tells of while a third one runs.
  const others = changed.items.some(
    (item) => item.kind === "tool" && item.turnId === event.turnId && item.state === "running",
  );
  const waitsVersion = others ? state.waitsVersion + 1 : state.waitsVersion;
  const todosVersion = event.toolName === "write_todos" ? 1 : 0;
  return { ...changed, waitsVersion, todosVersion: state.todosVersion + todosVersion };
}

function recordCall(state: SessionState, event: EventOf<"GenerationRecorded">): SessionState {
  const counted = { ...state, usage: addUsage(state.usage, event.usage) };
  if (event.turnId === null) return counted;
  const own = state.turns[event.turnId]?.usage ?? noUsage;
  return changeTurn(counted, event.turnId, { usage: addUsage(own, event.usage) });
}
