import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import type { Pages } from "@/api/usePages";
import type { FailedTurnRowFragment } from "@/gql/graphql";
import { type Column, DataTable } from "@/ui/DataTable";
import { EmptyState } from "@/ui/EmptyState";
import { ListBody } from "@/ui/ListBody";
import { RelativeTime } from "@/ui/Time";
import { FailureText } from "./FailureText";

const COLUMNS: readonly Column<FailedTurnRowFragment>[] = [
  {
    head: "Session",
    className: "max-w-28 sm:max-w-72",
    cell: ({ session }) => (
      <>
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId: session.id }}
          className="block truncate font-medium hover:underline"
        >
          {session.title ?? <span className="text-ink-2">Untitled session</span>}
        </Link>
        <span className="block truncate text-xs text-ink-3">
          {session.agent?.displayName ?? session.harness.displayName}
        </span>
      </>
    ),
  },
  {
    head: "What happened",
    cell: ({ id, status, error, session }) => (
      <>
        <p className="wrap-anywhere">
          <span className={status === "SEALED" ? "font-medium text-warn" : "font-medium text-bad"}>
            {status === "SEALED" ? "Stopped: " : "Failed: "}
          </span>
          {error && <FailureText failure={error} />}
        </p>
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId: session.id }}
          search={{ view: "timeline", call: id }}
          className="rounded text-xs text-ink-2 underline underline-offset-2"
        >
          Turn
        </Link>
      </>
    ),
  },
  {
    head: "When",
    align: "right",
    className: "w-20 sm:w-28",
    cell: ({ finishedAt }) => finishedAt && <RelativeTime time={finishedAt} />,
  },
];

/** The turns that failed, newest first. */
export function FailedTurns({ turns }: { turns: Pages<FailedTurnRowFragment> }) {
  return (
    <ListBody
      list={turns}
      empty={
        <EmptyState icon={<CircleCheck size={20} />} title="No failures in this period">
          Turns that fail or are stopped are listed here.
        </EmptyState>
      }
    >
      <DataTable
        label="Failed turns"
        page
        rows={turns.nodes}
        rowKey={({ id }) => id}
        rowData={({ error }) => ({ "data-failure": error?.code })}
        columns={COLUMNS}
      />
    </ListBody>
  );
}
