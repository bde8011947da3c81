import { Link } from "@tanstack/react-router";
import type { LiveSession } from "@/live/orgState";
import { StatusMark } from "@/sessions/StatusMark";
import { RelativeTime } from "@/ui/Time";
import { Section } from "./Section";
import { SessionName } from "./SessionName";

export function RecentList({ sessions }: { sessions: readonly LiveSession[] }) {
  return (
    <Section
      title="Recent sessions"
      aside={
        <Link to="/sessions" className="rounded text-xs text-ink-2 hover:underline">
          All sessions
        </Link>
      }
    >
      <ul className="divide-y divide-line">
        {sessions.map((session) => (
          <li key={session.id}>
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: session.id }}
              className="flex items-center gap-4 px-3.5 py-2 transition-colors hover:bg-hover focus-visible:-outline-offset-2"
            >
              <span className="min-w-0 flex-1">
                <SessionName session={session} />
              </span>
              <StatusMark {...session} />
              <span className="w-20 shrink-0 text-right text-xs text-ink-3">
                <RelativeTime time={session.updatedAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
