import { Link } from "@tanstack/react-router";
import { CircleAlert, OctagonPause } from "lucide-react";
import { FailureRemedy } from "@/failures/FailureRemedy";
import { FailureText } from "@/failures/FailureText";
import type { LiveSession } from "@/live/orgState";
import { classes } from "@/ui/classes";
import { RelativeTime } from "@/ui/Time";
import { Nothing, Section } from "./Section";
import { SessionName } from "./SessionName";

interface FailureListProps {
  sessions: readonly LiveSession[];
  /** How many there were when the page was read; null when that is unknown, or too many to count. */
  total: number | null;
}

/** Sessions whose latest turn went wrong. One that then ends well leaves the list by itself. */
export function FailureList({ sessions, total }: FailureListProps) {
  return (
    <Section
      title="Failed or stopped"
      count={Math.max(sessions.length, total ?? 0)}
      aside={
        sessions.length > 0 && (
          <Link
            aria-label="View all failed or stopped sessions"
            to="/sessions"
            search={{ failed: true }}
            className="rounded text-xs text-ink-2 hover:underline"
          >
            View all
          </Link>
        )
      }
    >
      {sessions.length === 0 && <Nothing>No failed or stopped sessions.</Nothing>}
      <ul className="divide-y divide-line">
        {sessions.map((session) => (
          <FailureRow key={session.id} session={session} />
        ))}
      </ul>
    </Section>
  );
}

function FailureRow({ session }: { session: LiveSession }) {
  const { failure } = session;
  if (!failure) return null;
  const Icon = failure.sealed ? OctagonPause : CircleAlert;
  return (
    <li data-failure={failure.code} className="flex gap-2.5 px-3.5 py-2.5">
      <Icon
        size={16}
        className={classes("mt-0.5 shrink-0", failure.sealed ? "text-warn" : "text-bad")}
        aria-hidden
      />
      <div className="min-w-0 flex-1">
        <div className="flex items-baseline justify-between gap-3">
          <Link
            to="/sessions/$sessionId"
            params={{ sessionId: session.id }}
            className="min-w-0 rounded hover:underline"
          >
            <SessionName session={session} />
          </Link>
          <span className="text-xs text-ink-3">
            <RelativeTime time={failure.at} />
          </span>
        </div>
        <p className="text-xs text-ink-2 wrap-anywhere">
          <span className="font-medium">{failure.sealed ? "Stopped: " : "Failed: "}</span>
          <FailureText failure={failure} /> <FailureRemedy code={failure.code} />
        </p>
      </div>
    </li>
  );
}
