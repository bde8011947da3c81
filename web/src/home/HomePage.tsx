import { Link } from "@tanstack/react-router";
import { MessageSquarePlus } from "lucide-react";
import { useEffect } from "react";
import { describeError } from "@/api/errors";
import { useFresh } from "@/api/useFresh";
import { HomeDocument } from "@/gql/graphql";
import { failedSessions, recentSessions, workingSessions } from "@/live/orgState";
import { useOrgFeed } from "@/live/useOrgFeed";
import { useReadSessions } from "@/live/useReadSessions";
import { ConnectionBanner } from "@/shell/ConnectionBanner";
import { useMay } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { SkeletonRows } from "@/ui/Loading";
import { PageHeader } from "@/ui/PageHeader";
import { FailureList } from "./FailureList";
import { GettingStarted } from "./GettingStarted";
import { RecentList } from "./RecentList";
import { SpendToday } from "./SpendToday";
import { WaitingForYou } from "./WaitingForYou";
import { WorkingList } from "./WorkingList";

const MOST_FAILURES = 8;
const MOST_RECENT = 12;
const MOST_WORKING = 20;

/** What the organization's agents are doing, live. */
export function HomePage() {
  const { feed, snapshot } = useOrgFeed();
  const mayRun = useMay("SESSIONS_WRITE");
  const { data, error, stale, reload } = useFresh(HomeDocument, {});

  useEffect(() => {
    // What the cache held may be older than what the feed has said; it is merged by sequence all the same.
    if (data) feed.merge([...data.recent.nodes, ...data.working.nodes, ...data.failed.nodes]);
  }, [feed, data]);
  useEffect(() => {
    if (snapshot.beginnings > 0) reload();
  }, [snapshot.beginnings, reload]);

  const working = workingSessions(snapshot.org);
  const failed = failedSessions(snapshot.org).slice(0, MOST_FAILURES);
  const recent = recentSessions(snapshot.org).slice(0, MOST_RECENT);
  useReadSessions(feed, [...working.slice(0, MOST_WORKING), ...failed, ...recent]);

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
            <ErrorNote onRetry={reload}>{describeError(error)}</ErrorNote>
          </div>
        )}
        {!data && !error && recent.length === 0 && <SkeletonRows />}
        {fresh && <GettingStarted hasAgents={data.agents.nodes.length > 0} />}
        {recent.length > 0 && (
          <div className="mx-auto grid max-w-7xl items-start gap-x-6 gap-y-6 p-4 sm:p-6 xl:grid-cols-2">
            <div className="grid min-w-0 gap-y-6">
              <WaitingForYou />
              <SpendToday working={working.map(({ id }) => id).join()} />
              <WorkingList sessions={working.slice(0, MOST_WORKING)} total={working.length} />
              <FailureList sessions={failed} total={data?.failed.totalCount ?? null} />
            </div>
            <RecentList sessions={recent} />
          </div>
        )}
      </div>
    </>
  );
}
