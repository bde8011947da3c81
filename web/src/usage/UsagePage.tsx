import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChartColumn } from "lucide-react";
import { Suspense, useMemo, useState } from "react";
import { describeError } from "@/api/errors";
import { lazy } from "@/api/reachable";
import { type Change, changed } from "@/shell/search";
import { ReloadButton } from "@/ui/Button";
import { CsvLink } from "@/ui/CsvLink";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { curlRequest } from "@/ui/graphqlRequest";
import { Spinner } from "@/ui/Loading";
import { PageHeader } from "@/ui/PageHeader";
import { Toggles } from "@/ui/Toggles";
import { totalOf } from "./figures";
import { dayOf, daysOf } from "./range";
import { RANGES, type UsageSearch } from "./search";
import { Totals } from "./Totals";
import { UsageTable } from "./UsageTable";
import { useUsage } from "./useUsage";

const SpendChart = lazy(() => import("./SpendChart"));

/** What was used, of what, by whom. */
export function UsagePage() {
  const search = useSearch({ from: "/app/usage" });
  const navigate = useNavigate({ from: "/usage" });
  const [version, setVersion] = useState(0);
  const { by = "MODEL" } = search;
  // Which days these are is decided once, so that all parts of the page are about the same.
  // biome-ignore lint/correctness/useExhaustiveDependencies: reading anew may be on another day.
  const days = useMemo(
    () => daysOf(search, new Date()),
    [search.range, search.from, search.to, version],
  );
  const span = typeof days === "string" ? null : days;
  const byDay = useUsage(["DAY"], span, version);
  const empty = byDay.usage !== null && byDay.usage.rows.length === 0;

  return (
    <>
      <PageHeader title="Usage">
        <ReloadButton onClick={() => setVersion(version + 1)} />
        {span && (
          <CsvLink
            of="usage"
            parameters={{ groupBy: `day,${by.toLowerCase()}`, from: span.from, to: span.to }}
          >
            Download CSV
          </CsvLink>
        )}
      </PageHeader>
      <RangePicker
        search={search}
        onChange={(change) =>
          void navigate({ search: (old) => changed(old, change), replace: true })
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-6xl space-y-6 p-4 sm:p-6">
          {typeof days === "string" && <ErrorNote>{days}</ErrorNote>}
          {byDay.error && (
            <ErrorNote onRetry={() => setVersion(version + 1)}>
              {describeError(byDay.error)}
            </ErrorNote>
          )}
          {byDay.loading && <Spinner label="Loading usage" />}
          {empty && span && (
            <EmptyState
              icon={<ChartColumn size={20} />}
              title="No usage in this period"
              request={curlRequest(
                "query ($from: Time!, $to: Time!) { usage(groupBy: [DAY, MODEL], from: $from, to: $to) { edges { node { day model { name } modelCalls usage { costUsd } } } } }",
                { from: span.from, to: span.to },
              )}
            >
              Model and tool calls are counted here by the hour.
            </EmptyState>
          )}
          {byDay.usage && !empty && span && (
            <>
              <Totals totals={totalOf(byDay.usage.rows)} complete={byDay.usage.complete} />
              <Suspense fallback={<Spinner label="Loading the chart" />}>
                <SpendChart days={span} search={search} version={version} />
              </Suspense>
              <UsageTable days={span} by={by} version={version} />
              <p className="text-xs text-ink-3">
                Days are in UTC. Costs use the prices at the time of each call; a new price doesn't
                change past costs.
              </p>
            </>
          )}
        </div>
      </div>
    </>
  );
}

interface RangePickerProps {
  search: UsageSearch;
  onChange: (change: Change<UsageSearch>) => void;
}

function RangePicker({ search, onChange }: RangePickerProps) {
  const { range = "30d", from, to } = search;
  const today = dayOf(new Date());
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2 sm:px-6">
      <Toggles
        label="Days"
        options={RANGES}
        words={([, label]) => label}
        pressed={([each]) => range === each}
        onPress={([each]) =>
          onChange(
            each === "custom"
              ? { range: each, from: from ?? today, to: to ?? today }
              : { range: each, from: undefined, to: undefined },
          )
        }
      />
      {range === "custom" && (
        <div className="flex flex-wrap items-center gap-2 text-xs text-ink-2">
          {(["from", "to"] as const).map((end) => (
            <label key={end} className="flex items-center gap-1.5">
              {end === "from" ? "From" : "to"}
              <input
                type="date"
                max={today}
                className="control w-38"
                value={search[end] ?? ""}
                onChange={({ target }) => onChange({ [end]: target.value || undefined })}
              />
            </label>
          ))}
        </div>
      )}
    </div>
  );
}
