import type { SessionStatus, StopReason } from "@/gql/graphql";
import type { Feedback } from "./feedback";

/** All that the session page knows, made from events alone. */
export interface SessionState {
  /** The sequence of the newest durable event that was folded in; a stream resumes after it. */
  readonly lastSequence: number;
  /** True once the newest events have been read. */
  readonly caughtUp: boolean;
  readonly status: SessionStatus | null;
  /** `undefined` until an event names a title. */
  readonly title: string | null | undefined;
  readonly turns: Readonly<Record<string, TurnState>>;
  /** What is said of its turns, by their ids. */
  readonly feedback: Readonly<Record<string, readonly Feedback[]>>;
  readonly activeTurnId: string | null;
  /** Turns that wait for the active one, in the order in which they will run. */
  readonly queuedTurnIds: readonly string[];
  /** User messages that the model has not been asked about yet. */
  readonly undelivered: readonly string[];
  /** Approvals that were decided, by the ids of their waits. */
  readonly decidedWaits: readonly string[];
  /** What the chat shows, top to bottom. */
  readonly items: readonly ChatItem[];
  /** What the session itself has used: the history of a fork is not part of it. */
  readonly usage: UsageTotals;
  /** Its turns, those of its history included. */
  readonly turnCount: number;
  /** Grows with each change of the session's files, so that views of them know when to look again. */
  readonly filesVersion: number;
  /** The same for the agent's plan. */
  readonly todosVersion: number;
  /** The same for what the session waits for. */
  readonly waitsVersion: number;
  /** The same for what decides the effective config. */
  readonly configVersion: number;
  /** The same for how its budgets stand. */
  readonly budgetVersion: number;
}

export interface UsageTotals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  /** A decimal; null as soon as one part of the usage had no price. */
  readonly costUsd: string | null;
}

export type TurnStatus =
  | "queued"
  | "running"
  | "waiting"
  | "completed"
  | "failed"
  | "cancelled"
  | "sealed";

export interface TurnState {
  readonly id: string;
  readonly status: TurnStatus;
  readonly startedAt: string | null;
  /** The message that it began with; null until it has. */
  readonly inputMessageId: string | null;
  readonly finishedAt: string | null;
  /** Of its calls that have been read. */
  readonly usage: UsageTotals;
  /** The session that it ran in, for turns of the history that a fork began with; null for this one. */
  readonly sessionId: string | null;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  /** What else is known of it, by code. */
  readonly fields?: unknown;
}

interface ItemBase {
  readonly id: string;
  readonly turnId: string | null;
  readonly at: string;
}

export interface UserItem extends ItemBase {
  readonly kind: "user";
  readonly text: string;
  readonly images: readonly MessageImage[];
  /** How it met a session at work, e.g. "QUEUE"; null when that is not known. */
  readonly delivery: string | null;
}

export interface MessageImage {
  readonly imageId: string;
  readonly url: string;
}

/** A model call that failed and is made again. */
export interface Retry {
  readonly model: string;
  /** The model that is asked next; another one when a fallback takes over. */
  readonly nextModel: string;
  readonly code: string;
  readonly message: string;
  /** How many calls have failed in this step. */
  readonly attempt: number;
  readonly delayMs: number;
  /** When the wait began. */
  readonly at: string;
}

export interface AgentItem extends ItemBase {
  readonly kind: "agent";
  readonly text: string;
  readonly thinking: string;
  readonly thinkingDone: boolean;
  /** `interrupted`: the agent was stopped before the message was complete. */
  readonly state: "streaming" | "complete" | "interrupted";
  readonly model: string | null;
  readonly images: readonly MessageImage[];
  /** Set while a failed call waits for its next try, until anything comes of that. */
  readonly retry: Retry | null;
  readonly error: Failure | null;
}

export interface ToolItem extends ItemBase {
  readonly kind: "tool";
  readonly toolName: string;
  readonly displayName: string;
  readonly arguments: unknown;
  readonly narration: string | null;
  /** `denied`: people decided that it doesn't run. `unknown`: the turn ended before the call did. */
  readonly state: "running" | "succeeded" | "failed" | "denied" | "unknown";
  /** What the tool last said of how far it is. */
  readonly progress: string | null;
  readonly result: unknown;
  readonly error: string | null;
  /** Null for a call that has not ended, or was denied. */
  readonly durationMs: number | null;
}

/** Who did something, as events name them. */
export interface Doer {
  readonly kind: string | null;
  readonly id: string | null;
}

/** What a turn took until its end; nobody knows it where the beginning of the turn has not been read. */
export interface Took {
  readonly durationMs: number;
  readonly usage: UsageTotals;
}

/** A line between messages: how a turn ended, what people decided, that it was taken over. */
export interface NoticeItem extends ItemBase {
  readonly kind: "notice";
  readonly notice:
    | {
        readonly type: "completed";
        readonly stopReason: StopReason;
        readonly durationMs: number;
        readonly timeToFirstTokenMs: number | null;
        readonly iterations: number;
        readonly usage: UsageTotals;
      }
    | {
        readonly type: "failed";
        readonly failure: Failure;
        /** The agent's last message says so already. */
        readonly told: boolean;
        readonly took: Took | null;
      }
    | {
        readonly type: "sealed";
        readonly stopReason: StopReason;
        readonly failure: Failure;
        /** The agent's last message says the same. */
        readonly told: boolean;
        readonly took: Took | null;
      }
    | {
        readonly type: "cancelled";
        readonly reason: string | null;
        readonly by: Doer;
        readonly took: Took | null;
      }
    | { readonly type: "recovered"; readonly recoveries: number; readonly policy: string }
    | {
        readonly type: "decided";
        readonly toolName: string;
        readonly outcome: string;
        readonly approve: boolean;
        readonly note: string | null;
        /** It runs with other arguments than those that were asked about. */
        readonly edited: boolean;
        readonly by: Doer;
      }
    /** The model is not shown the oldest messages any more, or it is shown the complete conversation again. */
    | { readonly type: "compacted"; readonly complete: boolean }
    /** All above it is the history of another session. */
    | { readonly type: "forked"; readonly fromSessionId: string };
}

export type ChatItem = UserItem | AgentItem | ToolItem | NoticeItem;

export const noUsage: UsageTotals = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: "0",
};

export const initialState: SessionState = {
  lastSequence: 0,
  caughtUp: false,
  status: null,
  title: undefined,
  turns: {},
  feedback: {},
  activeTurnId: null,
  queuedTurnIds: [],
  undelivered: [],
  decidedWaits: [],
  items: [],
  usage: noUsage,
  turnCount: 0,
  filesVersion: 0,
  todosVersion: 0,
  waitsVersion: 0,
  configVersion: 0,
  budgetVersion: 0,
};
