import { useState } from "react";
import { classes } from "@/ui/classes";
import { ShowAll } from "@/ui/ShowAll";
import { type DiffLine, type Hunk, hunksOf } from "./lineDiff";

type Row = DiffLine | Extract<Hunk, { kind: "skipped" }>;

interface DiffLinesProps {
  lines: readonly DiffLine[];
  /** So many are shown until the reader asks for all of them. */
  most?: number;
}

/** The changed lines of a text with those around them. */
export function DiffLines({ lines, most = Number.POSITIVE_INFINITY }: DiffLinesProps) {
  const [all, setAll] = useState(false);
  const rows = hunksOf(lines).flatMap((hunk): readonly Row[] =>
    hunk.kind === "lines" ? hunk.lines : [hunk],
  );
  const shown = all ? rows : rows.slice(0, most);
  return (
    <div>
      <div className="py-1 font-mono text-xs leading-5">
        {shown.map((row, at) =>
          row.kind === "skipped" ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of one diff never change places.
            <p key={at} className="px-4 py-1 font-sans text-ink-3">
              {row.count} unchanged {row.count === 1 ? "line" : "lines"}
            </p>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: see above.
            <DiffRow key={at} line={row} />
          ),
        )}
      </div>
      {shown.length < rows.length && (
        <ShowAll count={rows.length} of="lines" onClick={() => setAll(true)} />
      )}
    </div>
  );
}

const MARKS = { same: " ", removed: "−", added: "+" } as const;
const SPOKEN = { same: "", removed: "Removed: ", added: "Added: " } as const;

export function DiffRow({ line }: { line: DiffLine }) {
  const { kind, text } = line;
  return (
    <div
      data-line={kind}
      className={classes(
        "flex gap-2 px-2",
        kind === "removed" && "bg-bad-soft text-bad",
        kind === "added" && "bg-ok-soft text-ok",
        kind === "same" && "text-ink-2",
      )}
    >
      <span aria-hidden className="w-3 shrink-0 text-center select-none">
        {MARKS[kind]}
      </span>
      <span className="min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere">
        <span className="sr-only">{SPOKEN[kind]}</span>
        {text === "" ? " " : text}
      </span>
    </div>
  );
}
