import { type DiffLine, lineDiff } from "@/diff/lineDiff";

/** A field that differs between two revisions. */
export type FieldDiff =
  /** Long texts and structures: line by line. */
  | { readonly field: string; readonly kind: "lines"; readonly lines: readonly DiffLine[] }
  | {
      readonly field: string;
      readonly kind: "value";
      readonly before: string;
      readonly after: string;
    };

/** What differs between two snapshots, in the order of their fields. Names stand in for ids where they are known. */
export function diffSnapshots(
  before: unknown,
  after: unknown,
  names: ReadonlyMap<string, string> = new Map(),
): FieldDiff[] {
  const left = recordOf(before);
  const right = recordOf(after);
  const fields = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return fields.flatMap((field): FieldDiff[] => {
    const was = textOf(left[field], names);
    const is = textOf(right[field], names);
    if (was === is) return [];
    // A prompt is compared by lines even while it has only one: it is what grows.
    const long = field === "systemPrompt" || was.includes("\n") || is.includes("\n");
    if (long) return [{ field, kind: "lines", lines: lineDiff(was, is) }];
    return [{ field, kind: "value", before: was, after: is }];
  });
}

function recordOf(snapshot: unknown): Record<string, unknown> {
  if (typeof snapshot !== "object" || snapshot === null || Array.isArray(snapshot)) return {};
  return snapshot as Record<string, unknown>;
}

/** Empty, null and absent all mean that a field says nothing. */
function textOf(value: unknown, names: ReadonlyMap<string, string>): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return names.get(value) ?? value;
  if (Array.isArray(value)) {
    return value.map((each) => elementText(each, names)).join("\n");
  }
  if (typeof value === "object") return JSON.stringify(sorted(value), null, 2);
  return String(value);
}

/** An element of a list: one without settings of its own is told by its id alone. */
function elementText(value: unknown, names: ReadonlyMap<string, string>): string {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && "id" in value) {
    const { id, config } = value as { id: unknown; config?: unknown };
    const rest = Object.keys(value).length - ("config" in value ? 2 : 1);
    if (typeof id === "string" && rest === 0) {
      return config === null || config === undefined
        ? id
        : `${id} ${JSON.stringify(sorted(config), null, 2)}`;
    }
  }
  return textOf(value, names);
}

/** The order of an object's keys means nothing, and must not look like a change. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

/** "defaultModelId" as a person says it: "Default model". */
export function fieldLabel(field: string): string {
  const words = field
    .replace(/Ids$/, "s")
    .replace(/Id$/, "")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The two revisions to compare: those that were asked for, else the newest and the one before it. */
export function comparedNumbers(
  search: { from?: number | undefined; to?: number | undefined },
  newest: number,
): { from: number; to: number } {
  const to = search.to ?? newest;
  return { from: search.from ?? Math.max(1, to - 1), to };
}
