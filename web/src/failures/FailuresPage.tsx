import { useNavigate, useSearch } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useMemo, useState } from "react";
import { useFresh } from "@/api/useFresh";
import { usePages } from "@/api/usePages";
import { FailedTurnsDocument, FailuresDocument } from "@/gql/graphql";
import { changed } from "@/shell/search";
import { Button, ReloadButton } from "@/ui/Button";
import { RequestError } from "@/ui/ErrorNote";
import { PageHeader } from "@/ui/PageHeader";
import { ExactTime } from "@/ui/Time";
import { Toggles } from "@/ui/Toggles";
import { FailedTurns } from "./FailedTurns";
import { FailureGroups } from "./FailureGroups";
import { failureFacts } from "./failures";
import { PERIODS, periodOf } from "./period";

const PAGE_SIZE = 50;

/** What goes wrong in the organization, how often, and in which sessions. */
export function FailuresPage() {
  const { range, code } = useSearch({ from: "/app/failures" });
  const navigate = useNavigate({ from: "/failures" });
  const [now, setNow] = useState(Date.now);
  const period = useMemo(() => periodOf(range, now), [range, now]);
  const report = useFresh(FailuresDocument, { ...period });
  const { from, to } = period;
  const turns = usePages(
    FailedTurnsDocument,
    { first: PAGE_SIZE, code: code ?? null, from, to },
    (data) => data.failedTurns,
  );
  const reload = () => {
    setNow(Date.now());
    report.reload();
    turns.reload();
  };
  const found = report.data?.failures;
  return (
    <>
      <PageHeader title="Failures">
        <ReloadButton onClick={reload} />
      </PageHeader>
      <search className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2 sm:px-6">
        <Toggles
          label="Period"
          options={PERIODS}
          words={([, label]) => label}
          pressed={([each]) => each === range}
          onPress={([each]) =>
            void navigate({ search: (old) => changed(old, { range: each }), replace: true })
          }
        />
        {code !== undefined && (
          <Button
            look="ghost"
            onClick={() => void navigate({ search: (old) => changed(old, { code: undefined }) })}
          >
            {failureFacts(code).title}
            <X size={14} aria-hidden />
            <span className="sr-only">Show all failures</span>
          </Button>
        )}
      </search>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <RequestError error={report.error} />
        {found && found.groups.length > 0 && code === undefined && (
          <>
            <FailureGroups groups={found.groups} period={period} />
            {found.countedFrom !== null && (
              <p className="px-4 py-2 text-xs text-ink-3 sm:px-6">
                Only the newest failures are counted, since <ExactTime time={found.countedFrom} />.
              </p>
            )}
            <h2 className="border-t border-line px-4 pt-6 pb-1 text-sm font-medium sm:px-6">
              Newest failed turns
            </h2>
          </>
        )}
        <FailedTurns turns={turns} />
      </div>
    </>
  );
}
