import { diffArrays } from "diff";

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Beyond this many edits two texts have little in common, and all of one stands before all of the other. */
const MOST_EDITS = 1000;

/** The shortest way from one text to another in whole lines. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const left = linesOf(before);
  const right = linesOf(after);
  const changes = diffArrays(left, right, { maxEditLength: MOST_EDITS });
  if (!changes) return [...marked("removed", left), ...marked("added", right)];
  return changes.flatMap(({ removed, added, value }) => {
    if (removed) return marked("removed", value);
    return marked(added ? "added" : "same", value);
  });
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

function marked(kind: DiffLine["kind"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}

export type Hunk =
  | { readonly kind: "lines"; readonly lines: readonly DiffLine[] }
  /** So many lines that are the same on both sides and far from any change. */
  | { readonly kind: "skipped"; readonly count: number };

const CONTEXT = 3;

/** Leaves out what is far from any change. */
export function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ kind }, at) => {
    if (kind !== "same") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const hunks: Hunk[] = [];
  let from = 0;
  while (from < lines.length) {
    let to = from;
    while (to < lines.length && near[to] === near[from]) to += 1;
    const part = lines.slice(from, to);
    hunks.push(
      near[from] === 1 ? { kind: "lines", lines: part } : { kind: "skipped", count: part.length },
    );
    from = to;
  }
  return hunks;
}
