import { Link } from "@tanstack/react-router";
import type { WaitForYouFragment } from "@/gql/graphql";
import type { LiveSession } from "@/live/orgState";
import { RelativeTime } from "@/ui/Time";
import { Deadline } from "@/waits/Deadline";
import { KIND_LABELS } from "@/waits/words";
import { Section, SessionRow } from "./Section";

interface WaitingForYouProps {
  waits: readonly WaitForYouFragment[];
  /** Sessions that a budget has paused; none for a viewer who can't resume them. */
  paused: readonly LiveSession[];
}

/** What the viewer may decide, answer or resume; nothing at all when there is none. */
export function WaitingForYou({ waits, paused }: WaitingForYouProps) {
  const own = waits.filter(({ state, viewerMayResolve }) => state === "OPEN" && viewerMayResolve);
  const count = own.length + paused.length;
  if (count === 0) return null;
  return (
    <Section
      title="Waiting for you"
      count={count}
      aside={
        own.length > 0 && (
          <Link
            aria-label="View all approvals and questions"
            to="/approvals"
            className="rounded text-xs text-ink-2 hover:underline"
          >
            View all
          </Link>
        )
      }
    >
      <ul className="divide-y divide-line">
        {own.map((wait) => (
          <Row
            key={wait.id}
            sessionId={wait.session.id}
            what={wait.kind === "QUESTION" ? wait.question : `Approve ${wait.toolName}?`}
            where={`${KIND_LABELS[wait.kind]} · ${wait.session.title ?? "Untitled session"}`}
            since={wait.createdAt}
            deadline={wait.deadline}
          />
        ))}
        {paused.map((session) => (
          <Row
            key={session.id}
            sessionId={session.id}
            what={session.title ?? "Untitled session"}
            where="Paused by a budget"
            since={session.updatedAt}
            deadline={null}
          />
        ))}
      </ul>
    </Section>
  );
}

interface RowProps {
  sessionId: string;
  what: string | null;
  where: string;
  since: string;
  deadline: string | null;
}

function Row({ sessionId, what, where, since, deadline }: RowProps) {
  return (
    <SessionRow id={sessionId}>
      <span className="min-w-0">
        <span className="block truncate font-medium">{what}</span>
        <span className="block truncate text-xs text-ink-3">{where}</span>
      </span>
      <span className="flex flex-col items-end gap-0.5 text-xs text-ink-3">
        <RelativeTime time={since} />
        <Deadline deadline={deadline} />
      </span>
    </SessionRow>
  );
}
