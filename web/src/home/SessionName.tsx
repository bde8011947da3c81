import type { LiveSession } from "@/live/orgState";
import { ForkMark } from "@/sessions/ForkMark";

export function SessionName({ session }: { session: LiveSession }) {
  return (
    <span className="flex min-w-0 items-center gap-2">
      {session.forked && <ForkMark />}
      <span className="truncate text-sm font-medium">
        {session.title ?? <span className="text-ink-2">Untitled session</span>}
      </span>
      {session.runs !== null && (
        <span className="max-w-40 shrink-0 truncate text-xs text-ink-3">{session.runs}</span>
      )}
    </span>
  );
}
