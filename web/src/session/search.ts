export type SessionView = "chat" | "events" | "config";

/** What the address of a session holds. */
export interface SessionSearch {
  view?: SessionView;
  /** The events view shows this kind only. */
  kind?: string;
  /** The events view shows those that hold this text. */
  q?: string;
}

export function sessionSearch(search: Record<string, unknown>): SessionSearch {
  const view = search.view;
  return {
    ...(view === "events" || view === "config" ? { view } : {}),
    ...(typeof search.kind === "string" ? { kind: search.kind } : {}),
    ...(search.q !== undefined && search.q !== "" ? { q: String(search.q) } : {}),
  };
}
