/** The part of the axis that is shown, in milliseconds of the axis. */
export interface View {
  readonly from: number;
  readonly to: number;
}

/** Below this nothing more can be told apart. */
const SHORTEST_MS = 10;
/** What is fitted has some room at both sides. */
const ROOM = 0.05;

/** Shows more, or less, around a place of what is shown: 0 is its beginning, 1 its end. Null shows all. */
export function zoomAt(
  view: View | null,
  factor: number,
  place: number,
  axis: number,
): View | null {
  const { from, to } = view ?? { from: 0, to: axis };
  const length = Math.max((to - from) * factor, Math.min(SHORTEST_MS, axis));
  const anchor = from + place * (to - from);
  return within(anchor - place * length, length, axis);
}

/** Moves what is shown by a part of its length. */
export function pan(view: View | null, share: number, axis: number): View | null {
  if (view === null) return null;
  const length = view.to - view.from;
  return within(view.from + share * length, length, axis);
}

/** Shows what lies between two places of the axis, with some room. */
export function fitTo(start: number, end: number, axis: number): View | null {
  const length = Math.max(end - start, Math.min(SHORTEST_MS, axis));
  return within(start - ROOM * length, length * (1 + 2 * ROOM), axis);
}

/** Shows exactly what lies between two places of the axis, in either order. */
export function between(one: number, other: number, axis: number): View | null {
  const from = Math.max(0, Math.min(one, other));
  const length = Math.min(axis, Math.max(one, other)) - from;
  return within(from, Math.max(length, Math.min(SHORTEST_MS, axis)), axis);
}

function within(from: number, length: number, axis: number): View | null {
  if (length >= axis) return null;
  const start = Math.min(Math.max(0, from), axis - length);
  return { from: start, to: start + length };
}
