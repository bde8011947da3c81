/**
 * Where a queued turn goes when it is moved by one place: the turn that it then stands before, null for last; undefined
 * where it can't go.
 */
export function turnAfterMove(
  ids: readonly string[],
  index: number,
  by: -1 | 1,
): string | null | undefined {
  const to = index + by;
  if (to < 0 || to >= ids.length) return undefined;
  return (by === -1 ? ids[to] : ids[to + 1]) ?? null;
}
