import { Link } from "@tanstack/react-router";
import { Bot, Cpu, GitFork, Layers, PanelRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { SessionQuery } from "@/gql/graphql";
import { SessionTags, TagsDialog } from "@/sessions/SessionTags";
import { StatusMark } from "@/sessions/StatusMark";
import { useMay } from "@/shell/viewer";
import { IconButton } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { useSubject } from "@/ui/title";
import { ExportMenu } from "./export/ExportMenu";
import { ForkButton } from "./ForkButton";
import { latestFailure } from "./feed/ends";
import type { FeedSnapshot } from "./feed/feed";
import { DetailsPanel } from "./panels/DetailsPanel";
import { SessionTitle } from "./SessionTitle";
import type { SessionView } from "./search";

type SessionInfo = NonNullable<SessionQuery["session"]>;

interface SessionHeaderProps {
  session: SessionInfo;
  feed: FeedSnapshot;
  view: SessionView;
}

const VIEWS: { view: SessionView; label: string }[] = [
  { view: "chat", label: "Chat" },
  { view: "timeline", label: "Timeline" },
  { view: "events", label: "Events" },
  { view: "config", label: "Config" },
];

export function SessionHeader({ session, feed, view }: SessionHeaderProps) {
  const [detailsOpen, setDetailsOpen] = useState(false);
  const mayWrite = useMay("SESSIONS_WRITE");
  const { title = session.title, status } = feed.session;
  useSubject(title ?? "Untitled session", (status ?? session.status) === "ACTIVE");
  return (
    <header className="shrink-0 border-b border-line px-4 pt-2.5 sm:px-6">
      <div className="flex min-h-8 items-center gap-3">
        <SessionTitle sessionId={session.id} title={title} editable={mayWrite} />
        <StatusMark status={status ?? session.status} failure={latestFailure(feed.session)} />
        <span className="ml-auto flex items-center gap-3">
          <span className="hidden items-center gap-3 md:flex">
            <SessionFacts session={session} />
          </span>
          {mayWrite && (
            <ForkButton sessionId={session.id} throughTurnId={null} label="Fork" className="px-2" />
          )}
          <ExportMenu sessionId={session.id} title={title ?? "Untitled session"} />
          <IconButton label="Details" className="xl:hidden" onClick={() => setDetailsOpen(true)}>
            <PanelRight size={17} />
          </IconButton>
        </span>
      </div>
      <nav aria-label="Views" className="mt-1 -ml-2.5 flex">
        {VIEWS.map((each) => (
          <Link
            key={each.view}
            to="/sessions/$sessionId"
            params={{ sessionId: session.id }}
            search={each.view === "chat" ? {} : { view: each.view }}
            // By default every address of this session would count as the current one.
            activeOptions={{ exact: true, includeSearch: true }}
            aria-current={each.view === view ? "page" : undefined}
            className="-mb-px border-b-2 border-transparent px-2.5 py-2 text-sm text-ink-2 hover:text-ink focus-visible:-outline-offset-2 aria-[current=page]:border-ink aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            {each.label}
          </Link>
        ))}
      </nav>
      <Dialog
        open={detailsOpen}
        onClose={() => setDetailsOpen(false)}
        title="Details"
        shape="sheet"
      >
        <div className="flex flex-wrap gap-3 border-b border-line p-4">
          <SessionFacts session={session} />
        </div>
        <DetailsPanel
          sessionId={session.id}
          state={feed.session}
          forked={session.forkedThrough > 0}
        />
      </Dialog>
    </header>
  );
}

function SessionFacts({ session }: { session: SessionInfo }) {
  const [tagging, setTagging] = useState(false);
  return (
    <>
      {session.agent ? (
        <Link
          to="/agents/$agentId"
          params={{ agentId: session.agent.id }}
          className="flex rounded hover:underline"
        >
          <Fact icon={<Bot size={14} aria-hidden />}>{session.agent.displayName}</Fact>
        </Link>
      ) : (
        <Fact icon={<Layers size={14} aria-hidden />}>{session.harness.displayName}</Fact>
      )}
      {session.forkedThrough > 0 && (
        <Fact icon={<GitFork size={14} aria-hidden />}>
          Fork of{" "}
          {session.forkedFrom ? (
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: session.forkedFrom.id }}
              className="rounded hover:underline"
            >
              {session.forkedFrom.title ?? "an untitled session"}
            </Link>
          ) : (
            "another session"
          )}
        </Fact>
      )}
      {session.model && (
        <Fact icon={<Cpu size={14} aria-hidden />}>{session.model.displayName}</Fact>
      )}
      <SessionTags tags={session.tags} onEdit={() => setTagging(true)} />
      {tagging && <TagsDialog session={session} onClose={() => setTagging(false)} />}
    </>
  );
}

function Fact({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <span className="inline-flex max-w-52 items-center gap-1.5 text-xs text-ink-2">
      <span className="text-ink-3">{icon}</span>
      <span className="truncate">{children}</span>
    </span>
  );
}
