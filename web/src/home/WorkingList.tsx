import { Link } from "@tanstack/react-router";
import type { LiveSession } from "@/live/orgState";
import { StatusMark } from "@/sessions/StatusMark";
import { plainText } from "@/ui/plainText";
import { RelativeTime } from "@/ui/Time";
import { Nothing, Section } from "./Section";
import { SessionName } from "./SessionName";

interface WorkingListProps {
  sessions: readonly LiveSession[];
  /** Those at work, shown or not. */
  total: number;
}

export function WorkingList({ sessions, total }: WorkingListProps) {
  return (
    <Section title="Active now" count={total}>
      {sessions.length === 0 && <Nothing>No active turns.</Nothing>}
      <ul className="divide-y divide-line">
        {sessions.map((session) => (
          <li key={session.id}>
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: session.id }}
              className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 px-3.5 py-2 transition-colors hover:bg-hover focus-visible:-outline-offset-2"
            >
              <span className="min-w-0">
                <SessionName session={session} />
                {session.turn?.preview && (
                  <span className="block truncate text-xs text-ink-3">
                    {plainText(session.turn.preview)}
                  </span>
                )}
              </span>
              <span className="flex flex-col items-end gap-0.5 text-xs text-ink-3">
                <StatusMark status={session.status} />
                {session.turn && (
                  <span>
                    started <RelativeTime time={session.turn.since} />
                  </span>
                )}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
