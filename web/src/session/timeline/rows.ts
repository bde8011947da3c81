import type { Span, SpanKind, TimelineTurn } from "./model";

/** A line of the drawing: a turn, or a call of it. */
export interface TimelineRow {
  readonly id: string;
  readonly turn: TimelineTurn;
  /** Null for the line of the turn itself. */
  readonly span: Span | null;
}

/** What of the timeline is shown. */
export interface Filter {
  readonly kind?: FilterKind | undefined;
  readonly only?: "slow" | "failed" | undefined;
}

export type FilterKind = "model" | "tool" | "wait" | "hook";

/** From how long on a call counts as slow. */
export const SLOW_MS = 5000;

/**
 * Everything in the order in which it began, each turn before its calls. Of turns that are collapsed there are no calls, and with a
 * filter only turns that have a call which it lets through.
 */
export function rowsOf(
  turns: readonly TimelineTurn[],
  now: number,
  filter: Filter = {},
  collapsed: ReadonlySet<string> = new Set(),
): TimelineRow[] {
  const filtered = filter.kind !== undefined || filter.only !== undefined;
  return turns.flatMap((turn) => {
    const spans = turn.spans.filter((span) => passes(span, now, filter));
    if (filtered && spans.length === 0) return [];
    const shown = collapsed.has(turn.id)
      ? []
      : spans.toSorted((left, right) => left.start - right.start);
    return [
      { id: turn.id, turn, span: null },
      ...shown.map((span) => ({ id: span.id, turn, span })),
    ];
  });
}

function passes(span: Span, now: number, { kind, only }: Filter): boolean {
  if (kind !== undefined && filterKind(span.kind) !== kind) return false;
  if (only === "failed") return span.state === "failed";
  if (only === "slow") return (span.end ?? now) - span.start >= SLOW_MS;
  return true;
}

function filterKind(kind: SpanKind): FilterKind {
  return kind === "approval" ? "wait" : kind;
}
