/** The list with one of its elements a place earlier (-1) or later (+1); the same list where it can't go. */
export function moved<T>(list: readonly T[], from: number, by: -1 | 1): T[] {
  const to = from + by;
  const element = list[from];
  const other = list[to];
  if (element === undefined || other === undefined) return [...list];
  return list.with(from, other).with(to, element);
}
