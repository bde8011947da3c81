/** What has a name for programs and one for people. */
export interface Named {
  id: string;
  name: string;
  displayName: string;
}

const letters = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** The name for programs where it says more than the one for people, as `generic` does not beside "Generic"; null where it doesn't. */
export function nameBeside({ name, displayName }: Omit<Named, "id">): string | null {
  return letters(name) === letters(displayName) ? null : name;
}

export function fullName(of: Omit<Named, "id">): string {
  const name = nameBeside(of);
  return name === null ? of.displayName : `${of.displayName} (${name})`;
}

/** It as an option of a `Select`. */
export function namedOption(of: Named): readonly [string, string] {
  return [of.id, fullName(of)];
}
