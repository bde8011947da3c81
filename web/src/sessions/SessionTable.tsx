import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useRef, useSyncExternalStore } from "react";
import { Cost } from "@/money/Amount";
import { classes } from "@/ui/classes";
import { formatDuration } from "@/ui/format";
import { LoadMore } from "@/ui/LoadMore";
import { plainText } from "@/ui/plainText";
import { RelativeTime } from "@/ui/Time";
import type { ColumnKey, SessionColumn } from "./columns";
import { ForkMark } from "./ForkMark";
import type { SessionListRow } from "./liveRows";
import { SessionTags, type Tagged } from "./SessionTags";
import { Snippet } from "./Snippet";
import { StatusMark } from "./StatusMark";

interface SessionTableProps {
  sessions: {
    nodes: readonly SessionListRow[];
    hasMore: boolean;
    loadingMore: boolean;
    loadMore: () => void;
  };
  columns: readonly SessionColumn[];
  sorting: { sort: string; ascending: boolean };
  onSort: (sort: NonNullable<SessionColumn["sort"]>) => void;
  /** Null where rows can't be selected. */
  selection: Selection | null;
  onEditTags: (session: Tagged) => void;
}

export interface Selection {
  ids: ReadonlySet<string>;
  onToggle: (id: string) => void;
}

const ROW_HEIGHT = 36;
const CARD_HEIGHT = 56;

// A table needs room; below that each session is two lines.
const wide = window.matchMedia("(min-width: 64rem)");
const subscribeToWidth = (listener: () => void) => {
  wide.addEventListener("change", listener);
  return () => wide.removeEventListener("change", listener);
};

/** Only the rows in sight are in the page, so that thousands scroll as smoothly as ten. */
export function SessionTable(props: SessionTableProps) {
  const { sessions, columns, selection } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const table = useSyncExternalStore(subscribeToWidth, () => wide.matches);
  const height = table ? ROW_HEIGHT : CARD_HEIGHT;
  const { nodes } = sessions;
  const rows = useVirtualizer({
    count: nodes.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => `${height} ${nodes[index]?.id}`,
    estimateSize: () => height,
    overscan: 12,
  });
  const grid = table
    ? `${selection ? "1rem " : ""}minmax(20rem, 1fr) ${columns.map(({ width }) => width).join(" ")}`
    : `${selection ? "1rem " : ""}minmax(0, 1fr) auto`;
  const line = "grid items-center gap-x-4 px-4 sm:px-6";
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto">
      <table
        aria-label="Sessions"
        aria-rowcount={sessions.hasMore ? -1 : nodes.length + 1}
        className={classes("block", table && "min-w-fit")}
      >
        <thead className={table ? "sticky top-0 z-20 block bg-canvas" : "sr-only"}>
          <tr
            className={classes(line, "h-8 border-b border-line text-2xs text-ink-3")}
            style={{ gridTemplateColumns: grid }}
          >
            {selection && (
              <td>
                <span className="sr-only">Selection</span>
              </td>
            )}
            <th scope="col" className="text-left font-medium">
              Session
            </th>
            {table ? (
              columns.map((column) => <Head key={column.key} column={column} {...props} />)
            ) : (
              <th scope="col">Status</th>
            )}
          </tr>
        </thead>
        <tbody className="relative block" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const session = nodes[index];
            return (
              session && (
                <tr
                  key={key}
                  aria-rowindex={index + 2}
                  className={classes(
                    line,
                    "absolute inset-x-0 top-0 border-b border-line text-xs text-ink-2 transition-colors hover:bg-hover",
                  )}
                  style={{
                    height,
                    transform: `translateY(${start}px)`,
                    gridTemplateColumns: grid,
                  }}
                >
                  {selection && (
                    <td className="relative z-10 h-full">
                      <label className="absolute inset-y-0 -right-2 -left-4 flex cursor-pointer items-center pl-4 sm:-left-6 sm:pl-6">
                        <input
                          type="checkbox"
                          aria-label={`Select ${session.title ?? "Untitled session"}`}
                          className="size-3.5 accent-accent"
                          checked={selection.ids.has(session.id)}
                          onChange={() => selection.onToggle(session.id)}
                        />
                      </label>
                    </td>
                  )}
                  <th scope="row" className="min-w-0 text-left font-normal">
                    <Title session={session} oneLine={table} />
                  </th>
                  {table ? (
                    columns.map(({ key, right }) => (
                      <td
                        key={key}
                        className={classes("min-w-0 truncate", right && "text-right tabular-nums")}
                      >
                        {CELLS[key](session, props.onEditTags)}
                      </td>
                    ))
                  ) : (
                    <td className="flex flex-col items-end gap-0.5">
                      <StatusMark {...session} />
                      <span className="text-ink-3">
                        <RelativeTime time={session.updatedAt} />
                      </span>
                    </td>
                  )}
                </tr>
              )
            );
          })}
        </tbody>
      </table>
      <LoadMore
        hasMore={sessions.hasMore}
        loading={sessions.loadingMore}
        onLoad={sessions.loadMore}
      />
    </div>
  );
}

interface HeadProps extends Pick<SessionTableProps, "sorting" | "onSort"> {
  column: SessionColumn;
}

function Head({ column: { label, right, sort }, sorting, onSort }: HeadProps) {
  const sorted = sort !== undefined && sorting.sort === sort;
  const direction = sorting.ascending ? "ascending" : "descending";
  const Arrow = sorting.ascending ? ArrowUp : ArrowDown;
  return (
    <th
      scope="col"
      aria-sort={sorted ? direction : undefined}
      className={classes("font-medium whitespace-nowrap", right ? "text-right" : "text-left")}
    >
      {sort === undefined ? (
        label
      ) : (
        <button
          type="button"
          onClick={() => onSort(sort)}
          className={classes("rounded hover:text-ink", sorted && "text-ink")}
        >
          {sorted && <Arrow size={11} aria-hidden className="mr-0.5 inline" />}
          {label}
        </button>
      )}
    </th>
  );
}

/** The title leads to the session from anywhere in the row, and is followed by what was said in it. */
function Title({ session, oneLine }: { session: SessionListRow; oneLine: boolean }) {
  const said = session.match ? (
    <Snippet sessionId={session.id} match={session.match} />
  ) : (
    session.summary?.preview && plainText(session.summary.preview)
  );
  return (
    <div className={classes("min-w-0", oneLine && "flex items-baseline gap-2")}>
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: session.id }}
        className={classes(
          "flex min-w-0 items-center gap-1.5 text-sm font-medium text-ink after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent",
          oneLine && "max-w-[75%] shrink-0",
        )}
      >
        {session.forkedThrough > 0 && <ForkMark />}
        <span className="truncate">
          {session.title ?? <span className="text-ink-2">Untitled session</span>}
        </span>
      </Link>
      <div className="min-w-0 truncate text-xs text-ink-3">
        {said ?? (oneLine ? null : runs(session))}
      </div>
    </div>
  );
}

const runs = ({ agent, harness }: SessionListRow) => agent?.displayName ?? harness.displayName;

type Cell = (session: SessionListRow, onEditTags: SessionTableProps["onEditTags"]) => ReactNode;

const CELLS: Record<ColumnKey, Cell> = {
  agent: runs,
  customer: ({ customerKey }) => customerKey,
  tags: (session, onEditTags) => (
    <SessionTags tags={session.tags} short onEdit={() => onEditTags(session)} />
  ),
  status: (session) => <StatusMark {...session} />,
  model: ({ summary }) => summary?.model?.displayName,
  cost: ({ usage }) =>
    usage.inputTokens + usage.outputTokens > 0 ? <Cost usd={usage.costUsd} /> : "–",
  duration: ({ summary }) =>
    typeof summary?.durationMs === "number" ? formatDuration(summary.durationMs) : "–",
  activity: ({ updatedAt }) => <RelativeTime time={updatedAt} />,
  created: ({ createdAt }) => <RelativeTime time={createdAt} />,
};
