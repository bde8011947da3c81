export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Beyond this many edits two texts have little in common, and all of one stands before all of the other. */
const MOST_EDITS = 1000;

/** The shortest way from one text to another in whole lines, after Myers (1986). */
export function lineDiff(before: string, after: string): DiffLine[] {
  const left = linesOf(before);
  const right = linesOf(after);
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let tail = 0;
  while (
    tail < left.length - start &&
    tail < right.length - start &&
    left[left.length - 1 - tail] === right[right.length - 1 - tail]
  ) {
    tail += 1;
  }
  return [
    ...marked("same", left.slice(0, start)),
    ...middleDiff(left.slice(start, left.length - tail), right.slice(start, right.length - tail)),
    ...marked("same", left.slice(left.length - tail)),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

function marked(kind: DiffLine["kind"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}

function middleDiff(left: readonly string[], right: readonly string[]): DiffLine[] {
  const trace = furthestPaths(left, right);
  if (!trace) return [...marked("removed", left), ...marked("added", right)];
  const lines: DiffLine[] = [];
  let x = left.length;
  let y = right.length;
  for (let edits = trace.length - 1; edits > 0; edits -= 1) {
    const reached = trace[edits - 1] as Map<number, number>;
    const diagonal = x - y;
    const down = comesFromAbove(reached, diagonal, edits);
    const previous = diagonal + (down ? 1 : -1);
    const previousX = reached.get(previous) ?? 0;
    const previousY = previousX - previous;
    while (x > previousX && y > previousY && x - previousX > (down ? 0 : 1)) {
      x -= 1;
      y -= 1;
      lines.push({ kind: "same", text: left[x] as string });
    }
    if (down) {
      y -= 1;
      lines.push({ kind: "added", text: right[y] as string });
    } else {
      x -= 1;
      lines.push({ kind: "removed", text: left[x] as string });
    }
  }
  while (x > 0) {
    x -= 1;
    lines.push({ kind: "same", text: left[x] as string });
  }
  return lines.reverse();
}

/** For each number of edits, how far each diagonal reaches; null when the texts are too far apart. */
function furthestPaths(
  left: readonly string[],
  right: readonly string[],
): Map<number, number>[] | null {
  const trace: Map<number, number>[] = [];
  for (let edits = 0; edits <= MOST_EDITS; edits += 1) {
    const before = trace[edits - 1];
    const reached = new Map<number, number>();
    trace.push(reached);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = 0;
      if (before) {
        x = comesFromAbove(before, diagonal, edits)
          ? (before.get(diagonal + 1) ?? 0)
          : (before.get(diagonal - 1) ?? 0) + 1;
      }
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) {
        x += 1;
      }
      reached.set(diagonal, x);
      if (x >= left.length && x - diagonal >= right.length) return trace;
    }
  }
  return null;
}

function comesFromAbove(
  reached: ReadonlyMap<number, number>,
  diagonal: number,
  edits: number,
): boolean {
  if (diagonal === -edits) return true;
  if (diagonal === edits) return false;
  return (reached.get(diagonal - 1) ?? 0) < (reached.get(diagonal + 1) ?? 0);
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
