import { History } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { useQuery } from "urql";
import type { Pages } from "@/api/usePages";
import { AgentFormOptionsDocument, type RevisionFieldsFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { EmptyState } from "@/ui/EmptyState";
import { ListBody } from "@/ui/ListBody";
import { PageHeader, Slash } from "@/ui/PageHeader";
import { comparedNumbers } from "./fieldDiff";
import { RestoreButton } from "./RestoreButton";
import { RevisionDiff } from "./RevisionDiff";
import { RevisionList } from "./RevisionList";
import type { RestoreAnswer } from "./restore";
import type { HistorySearch } from "./search";

interface HistoryViewProps {
  /** The way back: links to the list, and to what this is the history of. */
  list: ReactNode;
  page: ReactNode;
  current: number;
  revisions: Pages<RevisionFieldsFragment>;
  search: HistorySearch;
  onCompare: (search: HistorySearch) => void;
  /** Null for those who may not change it, or where it can't be changed. */
  restore: ((revision: number, reason: string | null) => Promise<RestoreAnswer>) | null;
}

/** All revisions of an agent or a harness, and what differs between two of them. */
export function HistoryView(props: HistoryViewProps) {
  const { current, revisions, search, onCompare, restore } = props;
  const { nodes } = revisions;
  const names = useNames();
  const { from, to } = comparedNumbers(search, nodes[0]?.number ?? current);
  const before = nodes.find(({ number }) => number === from);
  const after = nodes.find(({ number }) => number === to);

  return (
    <>
      <PageHeader
        subject="History"
        title={
          <span className="flex flex-wrap items-center gap-2">
            <span className="contents [&>a]:truncate [&>a]:font-normal [&>a]:text-ink-3 [&>a]:hover:text-ink">
              {props.list}
              <Slash />
              {props.page}
            </span>
            <Slash />
            <span>History</span>
            <Badge title="Grows by one with every change">rev {current}</Badge>
          </span>
        }
      >
        {restore && after && after.number !== current && (
          <RestoreButton
            key={after.number}
            revision={after}
            current={current}
            restore={restore}
            onRestored={() => {
              onCompare({});
              revisions.reload();
            }}
            onConflict={revisions.reload}
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
