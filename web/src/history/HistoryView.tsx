import { History } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { type TypedDocumentNode, useQuery } from "urql";
import { type Payload, useAction } from "@/api/useAction";
import { useFresh } from "@/api/useFresh";
import { type Connection, usePages } from "@/api/usePages";
import {
  AgentFormOptionsDocument,
  type Lifecycle,
  type RevisionFieldsFragment,
} from "@/gql/graphql";
import { Missing } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { EmptyState } from "@/ui/EmptyState";
import { ListBody } from "@/ui/ListBody";
import { PageHeader, Slash, Trail } from "@/ui/PageHeader";
import { comparedNumbers } from "./fieldDiff";
import { type Restoration, RestoreButton } from "./RestoreButton";
import { RevisionDiff } from "./RevisionDiff";
import { RevisionList } from "./RevisionList";
import type { HistorySearch } from "./search";

interface Definition {
  displayName: string;
  revision: number;
  lifecycle: Lifecycle;
  builtIn?: boolean;
}

interface Revised {
  history: Connection<RevisionFieldsFragment>;
}

interface HistoryViewProps<Read, Listed, Restored> {
  id: string;
  /** What this is the history of, its revisions, and the mutation that brings one back. */
  query: TypedDocumentNode<Read, { id: string }>;
  revisionsQuery: TypedDocumentNode<Listed, { id: string; first: number; after?: string | null }>;
  restoration: TypedDocumentNode<Restored, Restoration>;
  search: HistorySearch;
  onCompare: (search: HistorySearch) => void;
  /** The way back: links to the list, and to what this is the history of. */
  list: ReactNode;
  page: (name: string) => ReactNode;
}

/** All revisions of an agent or a harness, and what differs between two of them. */
export function HistoryView<
  Read extends Record<string, Definition | null>,
  Listed extends Record<string, Revised | null>,
  Restored extends Record<string, Payload>,
>(props: HistoryViewProps<Read, Listed, Restored>) {
  const { id, search, onCompare } = props;
  const { data, error, fetching, reload } = useFresh(props.query, { id });
  const revisions = usePages(
    props.revisionsQuery,
    { id, first: 50 },
    (listed) => Object.values(listed)[0]?.history,
  );
  const restore = useAction(props.restoration);
  const mayWrite = useMay("CATALOG_WRITE");
  const names = useNames();
  const saved = data && Object.values(data)[0];
  if (!saved) return <Missing fetching={fetching} error={error} reload={reload} />;
  const current = saved.revision;
  const { nodes } = revisions;
  const restorable = mayWrite && saved.lifecycle === "ACTIVE" && !saved.builtIn;
  const { from, to } = comparedNumbers(search, nodes[0]?.number ?? current);
  const before = nodes.find(({ number }) => number === from);
  const after = nodes.find(({ number }) => number === to);

  return (
    <>
      <PageHeader
        subject="History"
        title={
          <Trail
            list={
              <>
                {props.list}
                <Slash />
                {props.page(saved.displayName)}
              </>
            }
            name="History"
          >
            <Badge title="Grows by one with every change">rev {current}</Badge>
          </Trail>
        }
      >
        {restorable && after && after.number !== current && (
          <RestoreButton
            key={after.number}
            id={id}
            revision={after.number}
            current={current}
            restore={restore}
            onAnswer={(restored) => {
              if (restored) onCompare({});
              revisions.reload();
            }}
          />
        )}
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListBody
          list={revisions}
          empty={
            <EmptyState icon={<History size={20} />} title="No revision was kept yet">
              From the next change on, every state is kept here and can be brought back.
            </EmptyState>
          }
        >
          <div className="mx-auto grid max-w-7xl items-start gap-6 p-4 sm:p-6 lg:grid-cols-[20rem_minmax(0,1fr)]">
            <div className="min-w-0">
              <RevisionList
                revisions={nodes}
                current={current}
                shown={to}
                onShow={(number) => onCompare({ to: number })}
              />
            </div>
            <RevisionDiff
              revisions={nodes}
              before={before}
              after={after}
              names={names}
              onCompare={onCompare}
            />
          </div>
        </ListBody>
      </div>
    </>
  );
}

/** What the ids in snapshots are called. Those of things that are gone stay ids. */
function useNames(): ReadonlyMap<string, string> {
  const [{ data }] = useQuery({ query: AgentFormOptionsDocument });
  return useMemo(
    () =>
      new Map(
        [...(data?.models.nodes ?? []), ...(data?.harnesses.nodes ?? [])].map(
          ({ id, displayName }) => [id, displayName],
        ),
      ),
    [data],
  );
}
