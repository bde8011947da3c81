import { type ReactNode, useMemo } from "react";
import { DiffLines } from "@/diff/DiffLines";
import { lineDiff } from "@/diff/lineDiff";
import { MOST_LINES } from "@/ui/longText";

interface FileChangeProps {
  path: string;
  /** What is to be known of the change as a whole. */
  note?: ReactNode;
  children: ReactNode;
}

/** A file with what a call does to it. */
export function FileChange({ path, note, children }: FileChangeProps) {
  return (
    <div className="overflow-hidden rounded border border-line bg-surface">
      <p className="flex flex-wrap items-baseline gap-x-2 border-b border-line px-2.5 py-1.5 text-xs">
        <span className="font-mono font-medium wrap-anywhere">{path}</span>
        {note && <span className="text-ink-3">{note}</span>}
      </p>
      {children}
    </div>
  );
}

/** How a text becomes another one. */
export function TextChange({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => lineDiff(before, after), [before, after]);
  return <DiffLines lines={lines} most={MOST_LINES} />;
}
