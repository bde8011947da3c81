import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ShieldCheck } from "lucide-react";
import { useRef, useState } from "react";
import { useFresh, useReloadOn, useReloadOnFocus } from "@/api/useFresh";
import { usePages } from "@/api/usePages";
import { DecidedApprovalsDocument, WaitsDocument, type WaitsQuery } from "@/gql/graphql";
import { useWaits } from "@/shell/waits";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { PageHeader } from "@/ui/PageHeader";
import { RelativeTime } from "@/ui/Time";
import { Toggles } from "@/ui/Toggles";
import { WaitList } from "@/waits/WaitList";
import { KIND_LABELS } from "@/waits/words";
import { History } from "./History";
import { NotifyToggle } from "./NotifyToggle";
import { INBOX_KINDS } from "./search";
import { useWaitKeys } from "./useWaitKeys";

const PAGE_SIZE = 20;

type OpenWait = WaitsQuery["waits"]["nodes"][number];

/** All that waits for somebody, in all sessions, and what was decided. */
export function ApprovalsPage() {
  const { history } = useSearch({ from: "/app/approvals" });
  return (
    <>
      <PageHeader title="Approvals">
        <NotifyToggle />
      </PageHeader>
      <Filters />
      <div className="min-h-0 flex-1 overflow-y-auto">{history ? <History /> : <OpenWaits />}</div>
    </>
  );
}

function OpenWaits() {
  const { kind } = useSearch({ from: "/app/approvals" });
  const waits = usePages(
    WaitsDocument,
    { first: PAGE_SIZE, kinds: kind ? [kind] : null },
    (data) => data.waits,
  );
  const { reload } = waits;
  useReloadOn(useWaits().version, reload);
  // Not every wait ends with an event of the organization: one of several client calls may have its result.
  useReloadOnFocus(reload);
  // What was resolved here is gone at once; the list says so a moment later.
  const [resolved, setResolved] = useState<ReadonlySet<string>>(new Set());
  const open = waits.nodes.filter(({ id, state }) => state === "OPEN" && !resolved.has(id));
  const list = useRef<HTMLDivElement>(null);
  useWaitKeys(list, open.length);

  return (
    <ListBody
      list={{ ...waits, nodes: open }}
      empty={kind === undefined ? <NothingWaits /> : <NothingOfKind />}
    >
      <div ref={list} className="mx-auto max-w-3xl p-4 sm:p-6">
        {open.some((wait) => wait.kind === "APPROVAL") && (
          <p className="mb-3 hidden text-xs text-ink-3 sm:block">
            <kbd>J</kbd> and <kbd>K</kbd> move through the list, <kbd>A</kbd> approves and{" "}
            <kbd>D</kbd> denies the selected call.
          </p>
        )}
        <WaitList
          label="Open waits"
          className="space-y-4"
          waits={open}
          originOf={(wait) => <Origin wait={wait} />}
          onResolved={(wait) => {
            // One approval of many leaves it open.
            if (wait.quorum <= 1) setResolved((before) => new Set([...before, wait.id]));
            reload();
          }}
        />
      </div>
    </ListBody>
  );
}

function Origin({ wait }: { wait: OpenWait }) {
  const { session } = wait;
  return (
    <p className="flex flex-wrap items-center gap-x-2 text-xs text-ink-3">
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: session.id }}
        className="rounded font-medium text-ink-2 underline underline-offset-2 wrap-anywhere"
      >
        {session.title ?? "Untitled session"}
      </Link>
      <span>{session.agent?.displayName ?? session.harness.displayName}</span>
      <RelativeTime time={wait.createdAt} />
    </p>
  );
}

function Filters() {
  const { kind, history = false } = useSearch({ from: "/app/approvals" });
  const navigate = useNavigate({ from: "/approvals" });
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-2 sm:px-6">
      <Toggles
        label="List"
        options={[false, true]}
        words={(each) => (each ? "History" : "Open")}
        pressed={(each) => history === each}
        onPress={(each) => void navigate({ search: each ? { history: true } : {}, replace: true })}
      />
      {!history && (
        <Toggles
          label="Kind"
          options={[undefined, ...INBOX_KINDS]}
          words={(each) => (each ? `${KIND_LABELS[each]}s` : "All")}
          pressed={(each) => kind === each}
          onPress={(each) => void navigate({ search: each ? { kind: each } : {}, replace: true })}
        />
      )}
    </div>
  );
}

function NothingOfKind() {
  return (
    <EmptyState icon={<ShieldCheck size={20} />} title="Nothing of this kind is waiting">
      Choose another kind.
    </EmptyState>
  );
}

/** How approvals come about is for those who never had one. */
function NothingWaits() {
  const { data } = useFresh(DecidedApprovalsDocument, { first: 1 });
  const isNew = data?.waits.nodes.length === 0;
  return (
    <EmptyState
      icon={<ShieldCheck size={20} />}
      title="You're all caught up"
      {...(isNew && {
        request: curlRequest(
          "{ waits(first: 20) { nodes { id kind toolName arguments question deadline } } }",
          {},
        ),
      })}
    >
      {isNew
        ? "Attach the Approvals capability to an agent to decide which tool calls need approval. Requests appear here and in their session."
        : "What needs a decision or an answer appears here and in its session."}
    </EmptyState>
  );
}
