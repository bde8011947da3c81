export type SessionView = "chat" | "timeline" | "events" | "config";

/** Those that the address names; the chat is what there is without a name. */
const VIEWS = ["timeline", "events", "config"] as const;

/** What the address of a session holds. */
export interface SessionSearch {
  view?: SessionView;
  /** The events view shows this kind only. */
  kind?: string;
  /** The events view shows those that hold this text. */
  q?: string;
  /** The events view shows those of this turn only. */
  turn?: string;
}

export function sessionSearch(search: Record<string, unknown>): SessionSearch {
  const view = VIEWS.find((each) => each === search.view);
  return {
    ...(view ? { view } : {}),
    ...(typeof search.kind === "string" ? { kind: search.kind } : {}),
    ...(search.q !== undefined && search.q !== "" ? { q: String(search.q) } : {}),
    ...(typeof search.turn === "string" ? { turn: search.turn } : {}),
  };
}
