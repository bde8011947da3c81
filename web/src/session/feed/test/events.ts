import type { UsageFieldsFragment } from "@/gql/graphql";
import type { EventOf, SessionEvent } from "../event";

export const usage: UsageFieldsFragment = {
  inputTokens: 10,
  outputTokens: 5,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: "0.001",
};

type Name = SessionEvent["__typename"];
/** What a test does not name is left out: the fold must not need it there. */
type Own<N extends Name> = Partial<Omit<EventOf<N>, "__typename" | "id" | "kind" | "sequence">>;

/** Makes the event of one type for tests; `sequence` is that of the last durable event for ephemeral ones. */
export function event<N extends Name>(name: N, sequence: number, own: Own<N>): SessionEvent {
  return {
    __typename: name,
    id: `evt_${name}_${sequence}`,
    kind: name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase(),
    sequence,
    occurredAt: "2026-11-20T10:00:00.000Z",
    turnId: "turn_1",
    data: {},
    ...(name === "SessionStarted" ? { forkedFromId: null } : {}),
    ...own,
  } as unknown as SessionEvent;
}

export function textMessage(id: string, role: "USER" | "AGENT", text: string) {
  return {
    id,
    role,
    createdAt: "2026-11-20T10:00:00.000Z",
    content: [{ __typename: "TextPart" as const, text }],
    error: null,
    interrupted: false,
  };
}

/** One turn that answers with a tool: what a server would store of it, in order. */
export function turnWithTool(): SessionEvent[] {
  return [
    event("SessionStarted", 1, { turnId: null }),
    event("MessageReceived", 2, { message: textMessage("msg_user", "USER", "Write a file") }),
    event("SessionActivated", 3, {}),
    event("TurnStarted", 4, { inputMessageId: "msg_user" }),
    event("ReasonStarted", 5, { iteration: 1 }),
    event("OutputStarted", 6, { messageId: "msg_1", model: "sim-default", iteration: 1 }),
    event("ThinkingCompleted", 7, { messageId: "msg_1", text: "A file, then." }),
    event("OutputCompleted", 8, { message: textMessage("msg_1", "AGENT", "I will write it.") }),
    event("GenerationRecorded", 9, {
      messageId: "msg_1",
      model: "sim-default",
      usage,
      durationMs: 400,
      timeToFirstTokenMs: 300,
      finishReason: "tool_calls",
    }),
    event("ReasonCompleted", 10, {}),
    event("ActStarted", 11, {}),
    event("ToolStarted", 12, {
      toolCallId: "call_1",
      toolName: "write_file",
      displayName: "Write file",
      arguments: { path: "notes.txt" },
      narration: null,
    }),
    event("FileWritten", 13, { path: "/workspace/notes.txt", deleted: false }),
    event("ToolCompleted", 14, {
      toolCallId: "call_1",
      toolName: "write_file",
      success: true,
      result: { written: 11 },
      toolError: null,
      durationMs: 12,
      narration: null,
    }),
    event("ActCompleted", 15, {}),
    event("OutputStarted", 16, { messageId: "msg_2", model: "sim-default", iteration: 2 }),
    event("OutputCompleted", 17, { message: textMessage("msg_2", "AGENT", "Done.") }),
    event("GenerationRecorded", 18, {
      messageId: "msg_2",
      model: "sim-default",
      usage,
      durationMs: 300,
      timeToFirstTokenMs: 200,
      finishReason: "stop",
    }),
    event("TurnCompleted", 19, {
      stopReason: "END_TURN",
      iterations: 2,
      toolCalls: 1,
      durationMs: 900,
      timeToFirstTokenMs: 300,
      usage,
    }),
    // The sum of the session knows more than the calls that were recorded.
    event("SessionIdled", 20, { usage: { ...usage, inputTokens: 25, costUsd: "0.0025" } }),
  ];
}
