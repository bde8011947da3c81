import type { ReactNode } from "react";
import { Button } from "@/ui/Button";

interface EditingNoticesProps {
  /** What is edited, e.g. "agent". */
  what: string;
  outdated: boolean;
  /** The labels of the fields that both changed. */
  clashes: readonly string[];
  onTakeTheirs: () => void;
}

/** Says that someone else has changed what is being edited, and what became of that. */
export function EditingNotices({ what, outdated, clashes, onTakeTheirs }: EditingNoticesProps) {
  return (
    <>
      {outdated && (
        <Notice>
          <span className="flex-1">
            Someone else changed this {what} since you began to edit it.
          </span>
          <Button onClick={onTakeTheirs}>Reload and keep my input</Button>
        </Notice>
      )}
      {clashes.length > 0 && (
        <Notice>
          Both of you changed {clashes.join(", ")}. What is shown is yours; saving replaces theirs.
        </Notice>
      )}
    </>
  );
}

function Notice({ children }: { children: ReactNode }) {
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-3 border-b border-line bg-warn-soft px-4 py-2 text-sm text-warn sm:px-6"
    >
      {children}
    </div>
  );
}
