import { Link } from "@tanstack/react-router";
import type { LiveSession } from "@/live/orgState";
import { StatusMark } from "@/sessions/StatusMark";
import { RelativeTime } from "@/ui/Time";
import { Section, SessionRow } from "./Section";
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
          <SessionRow key={session.id} id={session.id}>
            <span className="min-w-0">
              <SessionName session={session} />
            </span>
            <span className="flex items-center gap-4">
              <StatusMark {...session} />
              <span className="w-20 shrink-0 text-right text-xs text-ink-3">
                <RelativeTime time={session.updatedAt} />
              </span>
            </span>
          </SessionRow>
        ))}
      </ul>
    </Section>
  );
}
