import { Link, useNavigate } from "@tanstack/react-router";
import { describeError } from "@/api/errors";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { SkeletonRows } from "@/ui/Loading";
import { costWords, type Line, linesOf, type Totals, totalOf } from "./figures";
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

const HEAD = "px-3 py-2 text-2xs font-medium text-ink-3";
const CELL = "px-3 py-2 text-right tabular-nums";

/** The same usage by what the reader chooses. */
export function UsageTable({ days, by, version }: UsageTableProps) {
  const navigate = useNavigate({ from: "/usage" });
  const { usage, error, loading } = useUsage([by], days, version);
  const lines = usage ? linesOf(usage.rows, by) : [];
  return (
    <section aria-label="By what" className="card overflow-hidden">
      <div className="border-b border-line px-2 py-2">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be wrong here, nothing is submitted. */}
        <div role="group" aria-label="By" className="flex flex-wrap gap-0.5">
          {USAGE_BY.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={by === each}
              onClick={() =>
                void navigate({ search: (old) => ({ ...old, by: each }), replace: true })
              }
              className={classes(
                "rounded-md px-2.5 py-1 text-sm transition-colors",
                by === each ? "bg-hover font-medium text-ink" : "text-ink-2 hover:text-ink",
              )}
            >
              {LABELS[each]}
            </button>
          ))}
        </div>
      </div>
      {error && (
        <div className="p-3">
          <ErrorNote>{describeError(error)}</ErrorNote>
        </div>
      )}
      {loading && <SkeletonRows rows={3} height="h-10" />}
      {usage && !usage.complete && (
        <p className="border-b border-line px-3.5 py-2 text-xs text-warn">
          These are the first {usage.rows.length}: there are more than can be shown. The CSV file
          has them all.
        </p>
      )}
      {usage && (
        <table className="w-full text-sm" aria-label={`Usage by ${LABELS[by].toLowerCase()}`}>
          <thead className="border-b border-line">
            <tr>
              <th scope="col" className={classes(HEAD, "text-left")}>
                {LABELS[by]}
              </th>
              <th scope="col" className={classes(HEAD, "text-right max-md:hidden")}>
                Turns
              </th>
              <th scope="col" className={classes(HEAD, "text-right max-md:hidden")}>
                Model calls
              </th>
              <th scope="col" className={classes(HEAD, "text-right max-md:hidden")}>
                Tool calls
              </th>
              <th scope="col" className={classes(HEAD, "text-right max-sm:hidden")}>
                Input tokens
              </th>
              <th scope="col" className={classes(HEAD, "text-right max-sm:hidden")}>
                Output tokens
              </th>
              <th scope="col" className={classes(HEAD, "text-right")}>
                Cost
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {lines.map((line) => (
              <tr key={line.key} data-line={line.key}>
                <th scope="row" className="px-3 py-2 text-left font-normal wrap-anywhere text-ink">
                  <LineName line={line} by={by} />
                </th>
                <Cells totals={line.totals} />
              </tr>
            ))}
          </tbody>
          {usage.complete && (
            <tfoot className="border-t border-line font-medium">
              <tr data-line="total">
                <th scope="row" className="px-3 py-2 text-left font-medium">
                  In all
                </th>
                <Cells totals={totalOf(usage.rows)} />
              </tr>
            </tfoot>
          )}
        </table>
      )}
    </section>
  );
}

const numbers = new Intl.NumberFormat();

function Cells({ totals }: { totals: Totals }) {
  return (
    <>
      <td className={classes(CELL, "max-md:hidden")}>{numbers.format(totals.turns)}</td>
      <td className={classes(CELL, "max-md:hidden")}>{numbers.format(totals.modelCalls)}</td>
      <td className={classes(CELL, "max-md:hidden")}>{numbers.format(totals.toolCalls)}</td>
      <td className={classes(CELL, "max-sm:hidden")}>{numbers.format(totals.inputTokens)}</td>
      <td className={classes(CELL, "max-sm:hidden")}>{numbers.format(totals.outputTokens)}</td>
      <td className={CELL} data-cost={totals.costUsd}>
        {costWords(totals)}
      </td>
    </>
  );
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
