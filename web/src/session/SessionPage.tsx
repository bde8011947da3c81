import { useParams, useSearch } from "@tanstack/react-router";
import { Suspense, useEffect } from "react";
import { lazy } from "@/api/reachable";
import { useFresh } from "@/api/useFresh";
import { SessionDocument } from "@/gql/graphql";
import { ConnectionBanner } from "@/shell/ConnectionBanner";
import { Missing } from "@/shell/Fallbacks";
import { Spinner } from "@/ui/Loading";
import { ChatView } from "./chat/ChatView";
import { useOutbox } from "./chat/useOutbox";
import { useSessionFeed } from "./feed/useSessionFeed";
import { DetailsPanel } from "./panels/DetailsPanel";
import { SessionHeader } from "./SessionHeader";

const TimelineView = lazy(() => import("./timeline/TimelineView"));
const EventsView = lazy(() => import("./events/EventsView"));
const SessionConfigView = lazy(() => import("./SessionConfigView"));

export function SessionPage() {
  const { sessionId } = useParams({ from: "/app/sessions/$sessionId" });
  // What is typed, open and scrolled belongs to one session.
  return <SessionWorkbench key={sessionId} sessionId={sessionId} />;
}

function SessionWorkbench({ sessionId }: { sessionId: string }) {
  const { view = "chat" } = useSearch({ from: "/app/sessions/$sessionId" });
  const { data, error, fetching, reload } = useFresh(SessionDocument, { id: sessionId });
  const feed = useSessionFeed(sessionId);
  // Here and not in the chat: messages go out even while the rest of the page can't be shown.
  const outbox = useOutbox(sessionId, feed);
  const session = data?.session;
  const { title = session?.title ?? null } = feed.session;
  const live = feed.connection.status === "live";
  const failed = error !== undefined;
  useEffect(() => {
    if (live && failed) reload();
  }, [live, failed, reload]);

  if (!session) {
    return <Missing fetching={fetching} error={error} reload={reload} />;
  }

  return (
    <>
      <SessionHeader session={session} feed={feed} view={view} />
      <ConnectionBanner connection={feed.connection} />
      <div className="flex min-h-0 flex-1">
        <div className="flex min-w-0 flex-1 flex-col">
          {view === "chat" && (
            <ChatView
              sessionId={sessionId}
              title={title}
              feed={feed}
              outbox={outbox}
              stoppingTurnId={session.activeTurn?.cancelRequestedAt ? session.activeTurn.id : null}
            />
          )}
          <Suspense fallback={<Loading />}>
            {view === "timeline" && <TimelineView sessionId={sessionId} feed={feed} />}
            {view === "events" && <EventsView feed={feed} />}
            {view === "config" && (
              <SessionConfigView sessionId={sessionId} configVersion={feed.session.configVersion} />
            )}
          </Suspense>
        </div>
        {view === "chat" && (
          <aside
            aria-label="Session details"
            className="hidden w-80 shrink-0 overflow-y-auto border-l border-line xl:block"
          >
            <DetailsPanel
              sessionId={sessionId}
              state={feed.session}
              forked={session.forkedThrough > 0}
            />
          </aside>
        )}
      </div>
    </>
  );
}

function Loading() {
  return (
    <div className="p-6">
      <Spinner />
    </div>
  );
}
