import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { RequestError } from "./ErrorNote";
import { SkeletonRows } from "./Loading";
import { LoadMore } from "./LoadMore";

interface ListBodyProps<Row> {
  /** What `usePages` returns. */
  list: {
    nodes: readonly Row[];
    loading: boolean;
    error: CombinedError | undefined;
    reload: () => void;
    hasMore?: boolean;
    loadingMore?: boolean;
    loadMore?: () => void;
  };
  /** In place of the rows when there are none. */
  empty: ReactNode;
  /** Rows while they load. */
  skeletons?: number;
  /** The rows, when there are some. */
  children: ReactNode;
}

/** A list in each of its states: loading, failed, empty, filled, with more to load. */
export function ListBody<Row>({ list, empty, skeletons, children }: ListBodyProps<Row>) {
  const { nodes, loading, error, hasMore = false, loadingMore = false, loadMore } = list;
  return (
    <>
      {error && (
        <div className="p-4 sm:px-6">
          <RequestError error={error} onRetry={list.reload} />
        </div>
      )}
      {loading && <SkeletonRows {...(skeletons !== undefined && { rows: skeletons })} />}
      {!loading && !error && nodes.length === 0 && empty}
      {nodes.length > 0 && children}
      {loadMore && <LoadMore hasMore={hasMore} loading={loadingMore} onLoad={loadMore} />}
    </>
  );
}
