import { CircleAlert } from "lucide-react";
import { FailureRemedy } from "@/failures/FailureRemedy";
import { FailureText } from "@/failures/FailureText";
import { failureFacts } from "@/failures/failures";
import { classes } from "@/ui/classes";
import type { Failure } from "../feed/state";

interface FailureNoteProps {
  failure: Failure;
  className?: string;
}

/** What went wrong, where it did, and where it can be put right. */
export function FailureNote({ failure, className }: FailureNoteProps) {
  return (
    <div
      role="alert"
      data-failure={failure.code}
      className={classes(
        "flex gap-2.5 rounded-lg border border-bad/25 bg-bad-soft px-3 py-2.5 text-sm text-bad",
        className,
      )}
    >
      <CircleAlert size={16} className="mt-0.5 shrink-0" aria-hidden />
      <div className="min-w-0 wrap-anywhere">
        <div className="font-medium">{failureFacts(failure.code).title}</div>
        <FailureText failure={failure} /> <FailureRemedy code={failure.code} />
      </div>
    </div>
  );
}
