import { Link, useNavigate } from "@tanstack/react-router";
import { describeError } from "@/api/errors";
import { type Column, DataTable } from "@/ui/DataTable";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatCount } from "@/ui/format";
import { SkeletonRows } from "@/ui/Loading";
import { Toggles } from "@/ui/Toggles";
import { Cost } from "./Cost";
import { type Line, linesOf, type Totals, totalOf } from "./figures";
import type { Days } from "./range";
import { USAGE_BY, type UsageBy } from "./search";
import { useUsage } from "./useUsage";

const LABELS: Record<UsageBy, string> = {
  MODEL: "Model",
  AGENT: "Agent",
  CUSTOMER: "Customer",
  USER: "Member",
  TOOL: "Tool",
  SESSION: "Session",
};

interface UsageTableProps {
  days: Days;
  by: UsageBy;
  version: number;
}

/** The same usage by what the reader chooses. */
export function UsageTable({ days, by, version }: UsageTableProps) {
  const navigate = useNavigate({ from: "/usage" });
  const { usage, error, loading } = useUsage([by], days, version);
  const lines = usage ? linesOf(usage.rows, by) : [];
  return (
    <section aria-label="By what" className="card overflow-hidden">
      <div className="border-b border-line px-2 py-2">
        <Toggles
          label="By"
          options={USAGE_BY}
          words={(each) => LABELS[each]}
          pressed={(each) => each === by}
          onPress={(each) =>
            void navigate({ search: (old) => ({ ...old, by: each }), replace: true })
          }
        />
      </div>
      {error && (
        <div className="p-3">
          <ErrorNote>{describeError(error)}</ErrorNote>
        </div>
      )}
      {loading && <SkeletonRows rows={3} height="h-10" />}
      {usage && !usage.complete && (
        <p className="border-b border-line px-3.5 py-2 text-xs text-warn">
          Only the first {usage.rows.length} are shown. Download the CSV file for all.
        </p>
      )}
      {usage && (
        <DataTable
          label={`Usage by ${LABELS[by].toLowerCase()}`}
          rows={lines}
          rowKey={({ key }) => key}
          rowData={({ key }) => ({ "data-line": key })}
          columns={columnsOf(by, usage.complete ? totalOf(usage.rows) : null)}
        />
      )}
    </section>
  );
}

const COUNTS = [
  ["Turns", "turns", "md"],
  ["Model calls", "modelCalls", "md"],
  ["Tool calls", "toolCalls", "md"],
  ["Input tokens", "inputTokens", "sm"],
  ["Output tokens", "outputTokens", "sm"],
] as const;

/** The columns; `total` is null where not all rows are here. */
function columnsOf(by: UsageBy, total: Totals | null): Column<Line>[] {
  return [
    {
      head: LABELS[by],
      className: "wrap-anywhere",
      cell: (line) => <LineName line={line} by={by} />,
      ...(total && { total: "Total" }),
    },
    ...COUNTS.map(
      ([head, field, from]): Column<Line> => ({
        head,
        align: "right",
        from,
        cell: ({ totals }) => formatCount(totals[field]),
        ...(total && { total: formatCount(total[field]) }),
      }),
    ),
    {
      head: "Cost",
      align: "right",
      data: ({ totals }) => ({ "data-cost": totals.costUsd }),
      cell: ({ totals }) => <Cost totals={totals} />,
      ...(total && { total: <Cost totals={total} /> }),
    },
  ];
}

function LineName({ line: { key, name }, by }: { line: Line; by: UsageBy }) {
  if (key === "") return <span className="text-ink-2">{name}</span>;
  const link = "rounded underline-offset-2 hover:underline";
  if (by === "AGENT") {
    return (
      <Link to="/agents/$agentId" params={{ agentId: key }} className={link}>
        {name}
      </Link>
    );
  }
  if (by === "SESSION") {
    return (
      <Link to="/sessions/$sessionId" params={{ sessionId: key }} className={link}>
        {name}
      </Link>
    );
  }
  return name;
}
