import { useMemo } from "react";
import { DiffLines } from "@/diff/DiffLines";
import { MOST_LINES } from "@/ui/longText";
import { argumentChanges } from "./changes";

interface ArgumentChangesProps {
  /** Those that the agent asked for, and those that the call shall run with. */
  before: unknown;
  after: unknown;
}

/** How a person has changed the arguments of a call. */
export function ArgumentChanges({ before, after }: ArgumentChangesProps) {
  const changes = useMemo(() => argumentChanges(before, after), [before, after]);
  return (
    <section aria-label="Edited arguments">
      <h4 className="mb-1 text-2xs font-medium text-ink-3">Edited arguments</h4>
      <div className="space-y-2">
        {changes.map(({ name, lines }) => (
          <div key={name} className="overflow-hidden rounded border border-line">
            <p className="border-b border-line px-2.5 py-1 text-xs font-medium text-ink-3">
              {name}
            </p>
            <DiffLines lines={lines} most={MOST_LINES} />
          </div>
        ))}
      </div>
    </section>
  );
}
