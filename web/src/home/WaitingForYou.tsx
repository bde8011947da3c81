import { Link } from "@tanstack/react-router";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { WaitsDocument } from "@/gql/graphql";
import { useWaits } from "@/shell/waits";
import { RelativeTime } from "@/ui/Time";
import { Deadline } from "@/waits/Deadline";
import { KIND_LABELS } from "@/waits/words";
import { Section } from "./Section";

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
          <li key={wait.id}>
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: wait.session.id }}
              className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 px-3.5 py-2 text-sm transition-colors hover:bg-hover focus-visible:-outline-offset-2"
            >
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
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
