import type { Span, TimelineTurn } from "./model";

/** A line of the drawing: a turn, or a span of it. */
export interface TimelineRow {
  readonly id: string;
  readonly turn: TimelineTurn;
  /** Null for the line of the turn itself. */
  readonly span: Span | null;
}

/** Everything in the order in which it began, each turn before what it is made of. */
export function rowsOf(turns: readonly TimelineTurn[]): TimelineRow[] {
  return turns.flatMap((turn) => [
    { id: turn.id, turn, span: null },
    ...orderedSpans(turn).map((span) => ({ id: `${turn.id}:${span.id}`, turn, span })),
  ]);
}

/**
 * Calls follow their step. A model call is only told of when it is over, and a wait of the whole turn is no step: what is
 * on the first level starts a group, and the second level belongs to the last step before it.
 */
function orderedSpans(turn: TimelineTurn): Span[] {
  const steps: { step: Span | null; parts: Span[] }[] = [{ step: null, parts: [] }];
  let current = steps[0];
  for (const span of turn.spans) {
    if (span.depth === 2) {
      current?.parts.push(span);
      continue;
    }
    const group = { step: span, parts: [] };
    steps.push(group);
    if (span.kind !== "wait") current = group;
  }
  return steps.flatMap(({ step, parts }) => (step ? [step, ...parts] : parts));
}
