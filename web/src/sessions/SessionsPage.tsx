import { useNavigate, useSearch } from "@tanstack/react-router";
import { MessagesSquare, Plus } from "lucide-react";
import { useState } from "react";
import { usePages } from "@/api/usePages";
import { SessionsDocument } from "@/gql/graphql";
import { ConnectionBanner } from "@/shell/ConnectionBanner";
import { NotAllowed } from "@/shell/NotAllowed";
import { changed } from "@/shell/search";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { PageHeader } from "@/ui/PageHeader";
import { useStoredState } from "@/ui/useStoredState";
import { ColumnMenu } from "./ColumnMenu";
import { columnsOf, sortedBy, sortingOf, USUAL_COLUMNS } from "./columns";
import { NewSessionDialog } from "./NewSessionDialog";
import { SavedViews } from "./SavedViews";
import { SelectionBar } from "./SelectionBar";
import { SessionFilters } from "./SessionFilters";
import { SessionTable } from "./SessionTable";
import { type Tagged, TagsDialog } from "./SessionTags";
import { sessionQuery, withoutFilters } from "./search";
import { useLiveSessions } from "./useLiveSessions";

const PAGE_SIZE = 50;
const NONE: ReadonlySet<string> = new Set();

export function SessionsPage() {
  const { new: newWith, ...search } = useSearch({ from: "/app/sessions" });
  const { agent } = search;
  const [opened] = useState(Date.now);
  const navigate = useNavigate({ from: "/sessions" });
  const mayWrite = useMay("SESSIONS_WRITE");
  const query = sessionQuery(search, opened);
  const sessions = usePages(
    SessionsDocument,
    { first: PAGE_SIZE, ...query },
    (data) => data.sessions,
  );
  const [chosen, setChosen] = useStoredState(localStorage, "ostler.sessionColumns", USUAL_COLUMNS);
  const columns = search.columns ?? chosen;
  // Those of a saved view are its own.
  const changeColumns = (next: string) => {
    if (search.columns === undefined) setChosen(next);
    else void navigate({ search: (old) => ({ ...old, columns: next }), replace: true });
  };
  const live = useLiveSessions(sessions, PAGE_SIZE);
  const [selected, setSelected] = useState<ReadonlySet<string>>(NONE);
  const [tagged, setTagged] = useState<Tagged | null>(null);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const openDialog = () => void navigate({ search: (search) => ({ ...search, new: agent ?? "" }) });
  const closeDialog = () =>
    void navigate({ search: ({ new: _, ...search }) => search, replace: true });

  return (
    <>
      <PageHeader title="Sessions">
        <ColumnMenu columns={columns} onChange={changeColumns} />
        {mayWrite && (
          <Button look="primary" onClick={openDialog}>
            <Plus size={15} aria-hidden />
            New session
          </Button>
        )}
      </PageHeader>
      <SavedViews columns={columns} />
      <SessionFilters />
      <ConnectionBanner connection={live.connection} />
      {live.outdated && (
        <div className="flex items-center justify-center gap-3 border-b border-line px-4 py-1.5 text-sm text-ink-2">
          There are new sessions.
          <Button look="ghost" onClick={live.refresh}>
            Refresh
          </Button>
        </div>
      )}
      {mayWrite && (
        <SelectionBar sessions={live.nodes} selected={selected} onChange={setSelected} />
      )}
      <ListBody
        // The table scrolls by itself, with what loads more at its end.
        list={{ ...sessions, loadMore: undefined }}
        empty={
          <div className="min-h-0 flex-1 overflow-y-auto">
            {query.filter ? (
              <EmptyState
                icon={<MessagesSquare size={20} />}
                title="No sessions match"
                action={
                  <Button
                    onClick={() => void navigate({ search: withoutFilters(search), replace: true })}
                  >
                    Clear filters
                  </Button>
                }
              >
                Search looks at titles, customer keys, messages and session IDs. A word of a message
                has to be whole; new messages are found soon after their turn.
              </EmptyState>
            ) : (
              <NoSessions onCreate={mayWrite ? openDialog : undefined} />
            )}
          </div>
        }
      >
        <SessionTable
          sessions={{ ...sessions, nodes: live.nodes }}
          columns={columnsOf(columns)}
          sorting={sortingOf(search)}
          onSort={(sort) =>
            void navigate({ search: (old) => changed(old, sortedBy(old, sort)), replace: true })
          }
          selection={mayWrite ? { ids: selected, onToggle: toggle } : null}
          onEditTags={setTagged}
        />
      </ListBody>
      {tagged && <TagsDialog session={tagged} onClose={() => setTagged(null)} />}
      {newWith !== undefined && mayWrite && (
        <NewSessionDialog
          from={{ agentId: newWith, harnessId: search.harness ?? "" }}
          onClose={closeDialog}
        />
      )}
      {newWith !== undefined && !mayWrite && (
        <Dialog open onClose={closeDialog} title="New session">
          <NotAllowed needs="SESSIONS_WRITE" />
        </Dialog>
      )}
    </>
  );
}

function NoSessions({ onCreate }: { onCreate: (() => void) | undefined }) {
  return (
    <EmptyState
      icon={<MessagesSquare size={20} />}
      title="No sessions yet"
      action={
        onCreate && (
          <Button look="primary" onClick={onCreate}>
            Start a session
          </Button>
        )
      }
      {...(onCreate && {
        request: curlRequest(
          "mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id } userErrors { path message } } }",
          { input: { title: "First steps" } },
        ),
      })}
    >
      A session is a conversation with an agent, with its own files and a full event log.
    </EmptyState>
  );
}
