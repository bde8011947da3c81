import { useMemo } from "react";
import type { RevisionFieldsFragment } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { Select } from "@/ui/Field";
import { diffSnapshots, type FieldDiff, fieldLabel } from "./fieldDiff";
import { type DiffLine, hunksOf } from "./lineDiff";
import type { HistorySearch } from "./search";

interface RevisionDiffProps {
  /** Those to choose from. */
  revisions: readonly RevisionFieldsFragment[];
  before: RevisionFieldsFragment | undefined;
  after: RevisionFieldsFragment | undefined;
  names: ReadonlyMap<string, string>;
  onCompare: (search: HistorySearch) => void;
}

export function RevisionDiff({ revisions, before, after, names, onCompare }: RevisionDiffProps) {
  const diffs = useMemo(
    () =>
      before && after
        ? // The first revision has none before it: all of it is new.
          diffSnapshots(before === after ? null : before.snapshot, after.snapshot, names)
        : null,
    [before, after, names],
  );
  const choice = (label: string, chosen: number | undefined, onChoose: (n: number) => void) => (
    <Select
      aria-label={label}
      className="w-auto"
      value={String(chosen ?? "")}
      {...(chosen === undefined && { none: "not loaded" })}
      options={revisions.map(({ number }) => [String(number), `Revision ${number}`])}
      onChange={(number) => onChoose(Number(number))}
    />
  );

  return (
    <section aria-label="Differences" className="min-w-0 space-y-4">
      <div className="flex flex-wrap items-center gap-2 text-sm text-ink-2">
        From
        {choice("From revision", before?.number, (from) =>
          onCompare({ from, ...(after ? { to: after.number } : {}) }),
        )}
        to
        {choice("To revision", after?.number, (to) =>
          onCompare({ ...(before ? { from: before.number } : {}), to }),
        )}
      </div>
      {diffs === null && (
        <p className="text-sm text-ink-3">
          A revision of this comparison is not in the list. Load more, or choose another one.
        </p>
      )}
      {before !== undefined && before === after && (
        <p className="text-sm text-ink-3">Full contents of revision {after.number}.</p>
      )}
      {diffs?.length === 0 && (
        <p className="text-sm text-ink-3">Nothing differs between these two.</p>
      )}
      {diffs?.map((diff) => (
        <div key={diff.field} data-field={diff.field} className="card overflow-hidden">
          <h2 className="border-b border-line px-3 py-1.5 text-sm font-medium">
            {fieldLabel(diff.field)}
          </h2>
          <FieldDiffBody diff={diff} />
        </div>
      ))}
    </section>
  );
}

function FieldDiffBody({ diff }: { diff: FieldDiff }) {
  if (diff.kind === "value") {
    return (
      <div className="space-y-0.5 p-2 font-mono text-xs wrap-anywhere">
        {diff.before !== "" && <Line line={{ kind: "removed", text: diff.before }} />}
        {diff.after !== "" && <Line line={{ kind: "added", text: diff.after }} />}
        {diff.after === "" && <p className="px-2 font-sans text-ink-3">Now empty</p>}
      </div>
    );
  }
  return (
    <div className="py-1 font-mono text-xs leading-5">
      {hunksOf(diff.lines).map((hunk, index) =>
        hunk.kind === "skipped" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the hunks of one diff never change places.
          <p key={index} className="px-4 py-1 font-sans text-ink-3">
            {hunk.count} unchanged {hunk.count === 1 ? "line" : "lines"}
          </p>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: see above.
          <div key={index}>
            {hunk.lines.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place.
              <Line key={at} line={line} />
            ))}
          </div>
        ),
      )}
    </div>
  );
}

const MARKS = { same: " ", removed: "−", added: "+" } as const;
const SPOKEN = { same: "", removed: "Removed: ", added: "Added: " } as const;

function Line({ line }: { line: DiffLine }) {
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
