/** What a call asks for, in the form in which people read it. */
export type ReadCall =
  | {
      readonly kind: "write";
      readonly path: string;
      readonly content: string;
      readonly rest: Fields;
    }
  | {
      readonly kind: "edit";
      readonly path: string;
      readonly replacements: readonly Replacement[];
      readonly rest: Fields;
    }
  | { readonly kind: "fields"; readonly fields: Fields }
  /** Not an object: there is nothing better than its JSON. */
  | { readonly kind: "json" };

export type Fields = readonly (readonly [name: string, value: unknown])[];

export interface Replacement {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

/** Nothing is left out: what the form of a tool has no place for is in `rest`. */
export function readCall(toolName: string | null, value: unknown): ReadCall {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { kind: "json" };
  const { path, content, replacements, ...rest } = value as Record<string, unknown>;
  const known = typeof path === "string";
  const binary = rest.encoding !== undefined && rest.encoding !== "text";
  if (toolName === "write_file" && known && typeof content === "string" && !binary) {
    return { kind: "write", path, content, rest: restOf({ ...rest, replacements }) };
  }
  if (toolName === "edit_file" && known) {
    const read = replacementsIn(replacements);
    if (read) return { kind: "edit", path, replacements: read, rest: restOf({ ...rest, content }) };
  }
  return { kind: "fields", fields: Object.entries(value) };
}

function restOf(fields: Record<string, unknown>): Fields {
  return Object.entries(fields).filter(([, value]) => value !== undefined);
}

function replacementsIn(value: unknown): Replacement[] | null {
  if (!Array.isArray(value)) return null;
  const list: Replacement[] = [];
  for (const each of value as unknown[]) {
    if (typeof each !== "object" || each === null) return null;
    const { old, new: next, all = false, ...unknown } = each as Record<string, unknown>;
    const whole = Object.keys(unknown).length === 0;
    if (typeof old !== "string" || typeof next !== "string" || typeof all !== "boolean" || !whole) {
      return null;
    }
    list.push({ old, new: next, all });
  }
  return list;
}

/** A text after replacements, in order; null when one of them doesn't fit it, so that the call would fail. */
export function replaced(text: string, replacements: readonly Replacement[]): string | null {
  let now = text;
  for (const { old, new: next, all } of replacements) {
    const parts = old === "" ? [now] : now.split(old);
    if (parts.length < 2 || (parts.length > 2 && !all)) return null;
    now = parts.join(next);
  }
  return now;
}
