import { GitFork } from "lucide-react";

/** Tells a fork from the session whose title it has. */
export function ForkMark() {
  return (
    <span className="inline-flex shrink-0 items-center gap-1 rounded bg-sunken px-1.5 text-2xs font-normal text-ink-2">
      <GitFork size={11} aria-hidden />
      Fork<span className="sr-only">: </span>
    </span>
  );
}
