import { useState } from "react";
import { type CombinedError, type TypedDocumentNode, useClient } from "urql";
import { useFresh } from "@/api/useFresh";

export interface Connection<Node> {
  nodes: readonly Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

export interface Pages<Node> {
  nodes: readonly Node[];
  /** True while there is nothing to show yet. */
  loading: boolean;
  loadingMore: boolean;
  hasMore: boolean;
  error: CombinedError | undefined;
  loadMore: () => void;
  reload: () => void;
}

const EMPTY = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

type Variables = { first: number; after?: string | null };

/**
 * A list that grows page by page. The first page is kept up to date by the cache; the ones after it are forgotten when
 * it changes, because their cursors then may not join up any more.
 */
export function usePages<Data, Vars extends Variables, Node>(
  query: TypedDocumentNode<Data, Vars>,
  variables: Vars,
  /** Null where there is no such list, which is shown as an empty one. */
  connectionIn: (data: Data) => Connection<Node> | null | undefined,
): Pages<Node> {
  const client = useClient();
  const connectionOf = (data: Data) => connectionIn(data) ?? EMPTY;
  const { reload, ...result } = useFresh(query, variables);
  const first = result.data ? connectionOf(result.data) : null;

  const key = JSON.stringify([variables, first?.pageInfo.endCursor]);
  const [later, setLater] = useState<{ key: string; pages: Connection<Node>[] }>({
    key,
    pages: [],
  });
  const [loadingMore, setLoadingMore] = useState(false);
  const [laterError, setLaterError] = useState<CombinedError>();

  const pages = first ? [first, ...(later.key === key ? later.pages : [])] : [];
  const last = pages.at(-1);

  const loadMore = async () => {
    if (!last?.pageInfo.hasNextPage || loadingMore) return;
    setLoadingMore(true);
    const next = await client
      .query(
        query,
        { ...variables, after: last.pageInfo.endCursor },
        { requestPolicy: "network-only" },
      )
      .toPromise();
    setLoadingMore(false);
    setLaterError(next.error);
    if (next.data) setLater({ key, pages: [...pages.slice(1), connectionOf(next.data)] });
  };

  return {
    nodes: pages.flatMap((page) => page.nodes),
    loading: result.fetching && !first,
    loadingMore,
    hasMore: last?.pageInfo.hasNextPage ?? false,
    error: result.error ?? laterError,
    loadMore: () => void loadMore(),
    reload,
  };
}

/** A list that the API returns whole. */
export function useWholeList<Data, Node>(
  query: TypedDocumentNode<Data, Record<string, never>>,
  listOf: (data: Data) => readonly Node[],
) {
  const { data, error, fetching, reload } = useFresh(query, {});
  return {
    nodes: data ? listOf(data) : [],
    loading: fetching && !data,
    error,
    reload,
  };
}
