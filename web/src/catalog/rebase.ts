export interface Rebase<Draft> {
  draft: Draft;
  /** Fields that both changed; the draft holds mine. */
  clashes: (keyof Draft)[];
}

/**
 * Brings my changes onto what someone else has saved meanwhile: fields that I left alone take their value, the others
 * keep mine, so that no input is lost.
 */
export function rebaseDraft<Draft extends object>(
  base: Draft,
  mine: Draft,
  theirs: Draft,
): Rebase<Draft> {
  const draft = { ...theirs };
  const clashes: (keyof Draft)[] = [];
  const keepMine = <Key extends keyof Draft>(key: Key) => {
    if (same(base[key], mine[key])) return;
    draft[key] = mine[key];
    if (!same(base[key], theirs[key]) && !same(mine[key], theirs[key])) clashes.push(key);
  };
  for (const key of Object.keys(base) as (keyof Draft)[]) keepMine(key);
  return { draft, clashes };
}

export function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
