import { useMemo } from "react";
import { DiffLines, DiffRow } from "@/diff/DiffLines";
import type { RevisionFieldsFragment } from "@/gql/graphql";
import { Select } from "@/ui/Field";
import { diffSnapshots, type FieldDiff, fieldLabel } from "./fieldDiff";
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
        {diff.before !== "" && <DiffRow line={{ kind: "removed", text: diff.before }} />}
        {diff.after !== "" && <DiffRow line={{ kind: "added", text: diff.after }} />}
        {diff.after === "" && <p className="px-2 font-sans text-ink-3">Now empty</p>}
      </div>
    );
  }
  return <DiffLines lines={diff.lines} />;
}
