import type { StopReason } from "@/gql/graphql";
import type { SessionEvent } from "../feed/event";
import type { Feedback } from "../feed/feedback";
import type { Failure, UsageTotals } from "../feed/state";

/** A point in time that is worth a look, in the call or turn in which it was. */
export interface Mark {
  readonly kind: "retry" | "recovered" | "cancelled" | "repaired" | "compacted" | "decided";
  /** In milliseconds of the server's clock. */
  readonly at: number;
  readonly words: string;
}

export type SpanKind = "model" | "tool" | "approval" | "wait" | "hook";

/** A call of a turn, or something that it waited for: one line of the timeline. */
export interface Span {
  readonly id: string;
  readonly kind: SpanKind;
  readonly label: string;
  /** What stands beside the label, such as the model. */
  readonly detail: string;
  readonly start: number;
  /** Null while it lasts. */
  readonly end: number | null;
  /** `denied`: a tool call that never ran, because people decided so. */
  readonly state: "open" | "ok" | "failed" | "denied" | "interrupted";
  /** The step of the turn, where a model was called. */
  readonly iteration: number | null;
  readonly usage: SpanUsage | null;
  /** Why a call of a model failed. */
  readonly failure: Failure | null;
  readonly marks: readonly Mark[];
  /** What the log says of it, in order. */
  readonly events: readonly SessionEvent[];
}

/** What a call of a model took. */
export interface SpanUsage extends UsageTotals {
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
  /** Why it failed or was stopped. */
  readonly failure: Failure | null;
  /** When it was queued; null for one that began at once. */
  readonly queuedAt: number | null;
  readonly start: number;
  readonly end: number | null;
  readonly spans: readonly Span[];
  /** When it could do nothing but wait. The end is null while it lasts. */
  readonly waits: readonly { readonly start: number; readonly end: number | null }[];
  /** Those that are in none of its spans. */
  readonly marks: readonly Mark[];
  readonly usage: SpanUsage;
  readonly feedback: readonly Feedback[];
  /** It ran in the session that this one was forked from. */
  readonly inherited: boolean;
}
