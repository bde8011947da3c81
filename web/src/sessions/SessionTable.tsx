import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { Cost } from "@/money/Amount";
import { classes } from "@/ui/classes";
import { formatCount } from "@/ui/format";
import { LoadMore } from "@/ui/LoadMore";
import { RelativeTime } from "@/ui/Time";
import { ForkMark } from "./ForkMark";
import type { SessionListRow } from "./liveRows";
import { StatusMark } from "./StatusMark";

interface SessionTableProps {
  sessions: {
    nodes: readonly SessionListRow[];
    hasMore: boolean;
    loadingMore: boolean;
    loadMore: () => void;
  };
  /** Null where rows can't be selected. */
  selection: Selection | null;
}

export interface Selection {
  ids: ReadonlySet<string>;
  onToggle: (id: string) => void;
}

const ROW_HEIGHT = 56;

/** Only the rows in sight are in the page, so that thousands scroll as smoothly as ten. */
export function SessionTable({ sessions, selection }: SessionTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const { nodes } = sessions;
  const rows = useVirtualizer({
    count: nodes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
      <ul className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const session = nodes[index];
          return (
            session && (
              <li
                key={session.id}
                aria-setsize={sessions.hasMore ? -1 : nodes.length}
                aria-posinset={index + 1}
                className={classes(
                  "absolute inset-x-0 top-0 flex items-stretch border-b border-line",
                  !selection && "pl-2 sm:pl-4",
                )}
                style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
              >
                {selection && (
                  <label className="flex shrink-0 cursor-pointer items-center pr-2.5 pl-4 sm:pl-6">
                    <input
                      type="checkbox"
                      aria-label={`Select ${session.title ?? "Untitled session"}`}
                      className="size-3.5 accent-accent"
                      checked={selection.ids.has(session.id)}
                      onChange={() => selection.onToggle(session.id)}
                    />
                  </label>
                )}
                <SessionRow session={session} />
              </li>
            )
          );
        })}
      </ul>
      <LoadMore
        hasMore={sessions.hasMore}
        loading={sessions.loadingMore}
        onLoad={sessions.loadMore}
      />
    </div>
  );
}

function SessionRow({ session }: { session: SessionListRow }) {
  const { usage } = session;
  const tokens = usage.inputTokens + usage.outputTokens;
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: session.id }}
      className="grid h-full min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 pr-4 pl-2 transition-colors hover:bg-hover focus-visible:-outline-offset-2 sm:pr-6 lg:grid-cols-[minmax(0,1fr)_7rem_7rem_5rem_6rem]"
    >
      <div className="min-w-0">
        <div className="flex items-center gap-1.5 text-sm font-medium">
          {session.forkedThrough > 0 && <ForkMark />}
          <span className="truncate">
            {session.title ?? <span className="text-ink-2">Untitled session</span>}
          </span>
        </div>
        <div className="truncate text-xs text-ink-3">
          {session.agent?.displayName ?? session.harness.displayName}
        </div>
      </div>
      <div className="flex flex-col items-end gap-0.5 lg:contents">
        <StatusMark {...session} />
        <span className="hidden text-right text-xs text-ink-2 tabular-nums lg:block">
          {tokens > 0 ? `${formatCount(tokens)} tokens` : "–"}
        </span>
        <span className="hidden text-right text-xs text-ink-2 tabular-nums lg:block">
          {tokens > 0 ? <Cost usd={usage.costUsd} /> : "–"}
        </span>
        <span className="text-right text-xs text-ink-3">
          <RelativeTime time={session.updatedAt} />
        </span>
      </div>
    </Link>
  );
}
