import { Link } from "@tanstack/react-router";
import { Bars } from "@/charts/Bars";
import type { FailuresQuery } from "@/gql/graphql";
import { type Column, DataTable } from "@/ui/DataTable";
import { formatCount } from "@/ui/format";
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
      cell: ({ counts }) => {
        const bars = barsOf(
          period,
          counts.map(({ startsAt, turns }) => ({ startsAt, count: turns, bad: turns })),
        );
        const most = Math.max(...bars.map(({ count }) => count), 1);
        const per = period.interval === "HOUR" ? "hour" : "day";
        return <Bars label={`At most ${formatCount(most)} per ${per}`} bars={bars} height={28} />;
      },
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
