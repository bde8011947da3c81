import { Link } from "@tanstack/react-router";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { WaitsDocument } from "@/gql/graphql";
import { useWaits } from "@/shell/waits";
import { RelativeTime } from "@/ui/Time";
import { Deadline } from "@/waits/Deadline";
import { KIND_LABELS } from "@/waits/words";
import { Section, SessionRow } from "./Section";

const MOST = 20;

/** What the viewer may decide or answer; nothing at all when there is none. */
export function WaitingForYou() {
  const { version } = useWaits();
  const { data, reload } = useFresh(WaitsDocument, {
    first: MOST,
    kinds: ["APPROVAL", "QUESTION"],
  });
  useReloadOn(version, reload);

  const own = (data?.waits.nodes ?? []).filter(
    ({ state, viewerMayResolve }) => state === "OPEN" && viewerMayResolve,
  );
  if (own.length === 0) return null;
  return (
    <Section
      title="Waiting for you"
      count={own.length}
      aside={
        <Link to="/approvals" className="rounded text-xs text-ink-2 hover:underline">
          View all
        </Link>
      }
    >
      <ul className="divide-y divide-line">
        {own.map((wait) => (
          <SessionRow key={wait.id} id={wait.session.id}>
            <span className="min-w-0">
              <span className="block truncate font-medium">
                {wait.kind === "QUESTION" ? wait.question : `Approve ${wait.toolName}?`}
              </span>
              <span className="block truncate text-xs text-ink-3">
                {KIND_LABELS[wait.kind]} · {wait.session.title ?? "Untitled session"}
              </span>
            </span>
            <span className="flex flex-col items-end gap-0.5 text-xs text-ink-3">
              <RelativeTime time={wait.createdAt} />
              <Deadline deadline={wait.deadline} />
            </span>
          </SessionRow>
        ))}
      </ul>
    </Section>
  );
}
