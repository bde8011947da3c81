import { Link } from "@tanstack/react-router";
import type { FailuresQuery } from "@/gql/graphql";
import { type Column, DataTable } from "@/ui/DataTable";
import { formatCount, formatDateTime } from "@/ui/format";
import { RelativeTime } from "@/ui/Time";
import { FailureRemedy } from "./FailureRemedy";
import { failureFacts } from "./failures";
import { barsOf, type Period } from "./period";

type FailureGroup = FailuresQuery["failures"]["groups"][number];

interface FailureGroupsProps {
  groups: readonly FailureGroup[];
  period: Period;
}

/** What goes wrong, the most frequent first; each leads to its turns. */
export function FailureGroups({ groups, period }: FailureGroupsProps) {
  const columns: readonly Column<FailureGroup>[] = [
    {
      head: "Failure",
      cell: ({ code }) => (
        <>
          <Link
            from="/failures"
            to="/failures"
            search={(search) => ({ ...search, code })}
            className="font-medium hover:underline"
          >
            {failureFacts(code).title}
          </Link>
          <div className="flex flex-wrap gap-x-3 text-xs text-ink-3">
            <code className="font-mono">{code}</code>
            <FailureRemedy code={code} />
          </div>
        </>
      ),
    },
    {
      head: "Over time",
      from: "sm",
      className: "w-56",
      cell: ({ counts }) => <Bars period={period} counts={counts} />,
    },
    { head: "Turns", align: "right", cell: ({ turns }) => formatCount(turns) },
    {
      head: "Latest",
      align: "right",
      className: "w-28",
      cell: ({ latestAt }) => <RelativeTime time={latestAt} />,
    },
  ];
  return (
    <DataTable
      label="Failures by code"
      page
      rows={groups}
      rowKey={({ code }) => code}
      rowData={({ code, turns }) => ({ "data-code": code, "data-turns": turns })}
      columns={columns}
    />
  );
}

const HEIGHT = 28;

/** A bar for each hour or day, as high as there were failures. */
function Bars({ period, counts }: { period: Period; counts: FailureGroup["counts"] }) {
  const bars = barsOf(period, counts);
  const most = Math.max(...bars.map(({ turns }) => turns), 1);
  return (
    <div
      role="img"
      aria-label={`At most ${formatCount(most)} per ${period.interval === "HOUR" ? "hour" : "day"}`}
      className="flex items-end gap-px"
      style={{ height: HEIGHT }}
    >
      {bars.map(({ startsAt, turns }) => (
        <span
          key={startsAt}
          title={`${formatDateTime(startsAt)}: ${formatCount(turns)}`}
          className={turns > 0 ? "min-w-px flex-1 bg-bad" : "min-w-px flex-1 bg-line"}
          style={{ height: turns > 0 ? Math.max((turns / most) * HEIGHT, 3) : 1 }}
        />
      ))}
    </div>
  );
}
