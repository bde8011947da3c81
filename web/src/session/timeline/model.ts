import type { StopReason } from "@/gql/graphql";

/** A point in time that is worth a look, in the span or turn in which it was. */
export interface Mark {
  readonly kind:
    | "retry"
    | "recovered"
    | "hook"
    | "cancelled"
    | "repaired"
    | "compacted"
    | "decided";
  /** In milliseconds of the server's clock. */
  readonly at: number;
  readonly words: string;
}

export type SpanKind = "reason" | "model" | "act" | "tool" | "approval" | "wait";

/** A stretch of time within a turn. */
export interface Span {
  readonly id: string;
  readonly kind: SpanKind;
  /** 1 for steps and for waits of the whole turn, 2 for what happens within a step. */
  readonly depth: 1 | 2;
  readonly label: string;
  readonly start: number;
  /** Null while it lasts. */
  readonly end: number | null;
  /** `denied`: a tool call that never ran, because people decided so. */
  readonly state: "open" | "ok" | "failed" | "denied" | "interrupted";
  readonly usage: SpanUsage | null;
  readonly marks: readonly Mark[];
}

/** What a call of a model took. */
export interface SpanUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** A decimal; null when there is no price. */
  readonly costUsd: string | null;
  readonly firstTokenMs: number | null;
  /** The call was lost with its runner, and nobody knows what it really took. */
  readonly estimated: boolean;
}

export interface TimelineTurn {
  readonly id: string;
  /** Counted from 1 through the session, its history included; null while its beginning is not known. */
  readonly number: number | null;
  /** The words that it began with; null when they are not known. */
  readonly preview: string | null;
  readonly status: "running" | "waiting" | "completed" | "failed" | "cancelled" | "sealed";
  readonly stopReason: StopReason | null;
  /** When it was queued; null for one that began at once. */
  readonly queuedAt: number | null;
  readonly start: number;
  readonly end: number | null;
  readonly spans: readonly Span[];
  /** Those that are in none of its spans. */
  readonly marks: readonly Mark[];
  readonly usage: SpanUsage;
  /** It ran in the session that this one was forked from. */
  readonly inherited: boolean;
}
