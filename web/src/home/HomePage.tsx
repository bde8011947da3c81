import { Link, useSearch } from "@tanstack/react-router";
import { MessageSquarePlus } from "lucide-react";
import { useEffect, useState } from "react";
import { useFresh, useReloadOn, useReloadOnFocus } from "@/api/useFresh";
import { upTo } from "@/failures/period";
import { HomeDocument } from "@/gql/graphql";
import { failedSessions, recentSessions, workingSessions } from "@/live/orgState";
import { useOrgFeed } from "@/live/useOrgFeed";
import { useReadSessions } from "@/live/useReadSessions";
import { ConnectionBanner } from "@/shell/ConnectionBanner";
import { useMay, useViewer } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { RequestError } from "@/ui/ErrorNote";
import { SkeletonRows } from "@/ui/Loading";
import { PageHeader } from "@/ui/PageHeader";
import { useStoredState } from "@/ui/useStoredState";
import { FailureList } from "./FailureList";
import { GettingStarted } from "./GettingStarted";
import { Operations } from "./Operations";
import { OrgBudgets } from "./OrgBudgets";
import { RecentList } from "./RecentList";
import { TopAgents } from "./TopAgents";
import { WaitingForYou } from "./WaitingForYou";
import { WorkingList } from "./WorkingList";

const MOST_FAILURES = 8;
const MOST_RECENT = 12;
const MOST_WORKING = 20;
/** Where turns never stop ending, the figures are read as often as that. */
const READ_APART_MS = 3000;

/** What waits for the viewer, how the organization's turns go, and what its agents are doing, live. */
export function HomePage() {
  const { range } = useSearch({ from: "/app/" });
  const { feed, snapshot } = useOrgFeed();
  const { org, user } = useViewer();
  const [dismissed, setDismissed] = useStoredState(
    localStorage,
    `ostler.firstSteps.${org.id}.${user?.id ?? ""}`,
    false,
  );
  const mayRun = useMay("SESSIONS_WRITE");
  const mayResume = useMay("BUDGETS_MANAGE");
  const period = upTo(useHour(), "HOUR", range === "7d" ? 7 * 24 : 24);
  const steps = mayRun && !dismissed;
  const { data, error, stale, operation, reload } = useFresh(HomeDocument, {
    from: period.from,
    to: period.to,
    usage: useMay("USAGE_READ"),
    budgets: useMay("BUDGETS_READ"),
    orgId: org.id,
    steps,
    keys: useMay("API_KEYS_MANAGE") && steps,
  });
  // Until another period has been read, the figures are those of the one before.
  const loading = operation?.variables?.from !== period.from;

  useEffect(() => {
    // What the cache held may be older than what the feed has said; it is merged by sequence all the same.
    if (data) feed.merge([...data.recent.nodes, ...data.working.nodes, ...data.failed.nodes]);
  }, [feed, data]);
  const { waitsVersion, started } = snapshot.org;
  useReloadOn(`${waitsVersion} ${started} ${snapshot.beginnings}`, reload, 150, READ_APART_MS);
  useReloadOnFocus(reload);

  const known = {
    active: workingSessions(snapshot.org),
    failed: failedSessions(snapshot.org).slice(0, MOST_FAILURES),
    recent: recentSessions(snapshot.org).slice(0, MOST_RECENT),
  };
  useReadSessions(feed, [...known.active.slice(0, MOST_WORKING), ...known.failed, ...known.recent]);
  // One that has not been read may be a trial, which is in no list. Those far down are counted all the same.
  const active = known.active.filter(({ read }, index) => read || index >= MOST_WORKING);
  const paused = active.filter(({ status }) => mayResume && status === "PAUSED");
  const working = active.filter((session) => !paused.includes(session));
  const failed = known.failed.filter(({ read }) => read);
  const recent = known.recent.filter(({ read }) => read);

  const beginning = { facts: steps && data ? data : null, onDismiss: () => setDismissed(true) };
  const fresh = data && !stale && recent.length === 0;
  return (
    <>
      <PageHeader title="Home">
        {mayRun && (
          <Link to="/sessions" search={{ new: "" }} className={buttonClasses("primary")}>
            <MessageSquarePlus size={15} aria-hidden />
            New session
          </Link>
        )}
      </PageHeader>
      <ConnectionBanner connection={snapshot.connection} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && (
          <div className="p-4 sm:px-6">
            <RequestError error={error} onRetry={reload} />
          </div>
        )}
        {!data && !error && recent.length === 0 && <SkeletonRows />}
        {fresh && <GettingStarted started={false} {...beginning} />}
        {recent.length > 0 && (
          <div className="mx-auto grid max-w-7xl gap-6 p-4 sm:p-6">
            {data && <GettingStarted started {...beginning} />}
            <WaitingForYou waits={data?.waits.nodes ?? []} paused={paused} />
            {data && <Operations figures={data.operations} period={period} loading={loading} />}
            <div className="grid items-start gap-6 xl:grid-cols-2">
              <div className="grid min-w-0 gap-6">
                {data?.budgets && <OrgBudgets budgets={data.budgets.nodes} />}
                <WorkingList sessions={working.slice(0, MOST_WORKING)} total={working.length} />
                <FailureList sessions={failed} total={data?.failed.totalCount ?? null} />
              </div>
              <div className="grid min-w-0 gap-6">
                {data && (
                  <div className={classes("grid gap-6", loading && "invisible")}>
                    <TopAgents figures={data.operations} />
                  </div>
                )}
                <RecentList sessions={recent} />
              </div>
            </div>
          </div>
        )}
      </div>
    </>
  );
}

const HOUR_MS = 3_600_000;

/** A time within the hour that it is; it changes with the hour. */
function useHour(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setTimeout(() => setNow(Date.now()), HOUR_MS - (now % HOUR_MS));
    return () => clearTimeout(timer);
  }, [now]);
  return now;
}
