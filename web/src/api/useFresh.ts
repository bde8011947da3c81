import { useCallback, useEffect, useRef } from "react";
import { type AnyVariables, type TypedDocumentNode, useQuery } from "urql";

/**
 * A query that shows what the cache holds and asks the server all the same. `reload` asks it again. While `pause` is
 * true, nothing is asked.
 */
export function useFresh<Data, Variables extends AnyVariables>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  pause = false,
) {
  const [result, execute] = useQuery<Data, AnyVariables>({
    query,
    variables,
    requestPolicy: "cache-and-network",
    pause,
  });
  const reload = useCallback(() => execute({ requestPolicy: "network-only" }), [execute]);
  return { ...result, reload };
}

/** Reads again whenever the reader comes back to the window. */
export function useReloadOnFocus(reload: () => void, pause = false): void {
  useEffect(() => {
    if (pause) return;
    window.addEventListener("focus", reload);
    return () => window.removeEventListener("focus", reload);
  }, [reload, pause]);
}

/**
 * Reads again whenever the version is another one than when this was mounted. A burst of changes costs one reading, and changes
 * that never stop cost one reading each `apartMs`.
 */
export function useReloadOn(
  version: unknown,
  reload: () => void,
  quietMs = 150,
  apartMs = 1000,
): void {
  const seen = useRef(version);
  const readAt = useRef(0);
  const due = useRef<number | null>(null);
  useEffect(() => {
    if (seen.current === version) return;
    due.current ??= Math.max(Date.now() + quietMs, readAt.current + apartMs);
    const timer = setTimeout(() => {
      seen.current = version;
      readAt.current = Date.now();
      due.current = null;
      reload();
    }, due.current - Date.now());
    return () => clearTimeout(timer);
  }, [version, reload, quietMs, apartMs]);
}
