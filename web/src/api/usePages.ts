import { useCallback, useState } from "react";
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

/** The pages after the first, and why the next of them could not be read, for the list of this key. */
interface Later<Node> {
  key: string;
  pages: readonly Connection<Node>[];
  error?: CombinedError | undefined;
}

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
  const { reload: reloadFirst, ...result } = useFresh(query, variables);
  const first = result.data ? connectionOf(result.data) : null;

  const key = JSON.stringify([variables, first?.pageInfo.endCursor]);
  const [later, setLater] = useState<Later<Node>>({ key, pages: [] });
  const [loadingMore, setLoadingMore] = useState(false);
  const known = later.key === key ? later : { key, pages: [] };

  const pages = first ? [first, ...known.pages] : [];
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
    setLater({
      key,
      pages: next.data ? [...known.pages, connectionOf(next.data)] : known.pages,
      error: next.error,
    });
  };
  const reload = useCallback(() => {
    setLater((before) => (before.error ? { ...before, error: undefined } : before));
    reloadFirst();
  }, [reloadFirst]);

  return {
    nodes: joined(pages),
    loading: result.fetching && !first,
    loadingMore,
    hasMore: last?.pageInfo.hasNextPage ?? false,
    error: result.error ?? known.error,
    loadMore: () => void loadMore(),
    reload,
  };
}

/** The nodes of all pages, each once: in a list by what grows, one can move on to a later page between two readings. */
export function joined<Node>(pages: readonly Connection<Node>[]): Node[] {
  const seen = new Set<unknown>();
  return pages
    .flatMap(({ nodes }) => nodes)
    .filter((node) => {
      const id = (node as { id?: unknown }).id ?? node;
      if (seen.has(id)) return false;
      seen.add(id);
      return true;
    });
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
