import { GitFork } from "lucide-react";

/** Tells a fork from the session whose title it has. */
export function ForkMark() {
  return (
    <span title="Fork" className="shrink-0 text-ink-3">
      <GitFork size={13} aria-hidden />
      <span className="sr-only">Fork: </span>
    </span>
  );
}
