/** The fields of an input that differ from what is stored, so that what others changed meanwhile stays; null when none does. */
export function changesOf<Input extends object>(
  input: Input,
  stored: { [Key in keyof Input]: unknown },
): Partial<Input> | null {
  const changed = Object.entries(input).filter(
    ([key, value]) => !same(value, stored[key as keyof Input]),
  );
  return changed.length === 0 ? null : (Object.fromEntries(changed) as Partial<Input>);
}

/** The server keeps names in lists in an order of its own. */
function same(left: unknown, right: unknown): boolean {
  if (!Array.isArray(left) || !Array.isArray(right)) {
    return JSON.stringify(left) === JSON.stringify(right);
  }
  return left.length === right.length && left.every((each) => right.includes(each));
}

/** A list of names with this one in it, or without it when it was. */
export function toggled<Name>(names: readonly Name[], name: Name): readonly Name[] {
  return names.includes(name) ? names.filter((each) => each !== name) : [...names, name];
}
