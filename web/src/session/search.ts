import { oneOf, searchOf, text } from "@/shell/search";

export type SessionView = "chat" | "timeline" | "events" | "config";

export const sessionSearch = searchOf({
  /** The chat is what there is without it. */
  view: oneOf(["timeline", "events", "config"]),
  /** The events view shows this kind only. */
  kind: text,
  /** The events view shows those that hold this text. */
  q: text,
  /** The events view shows those of this turn only. */
  turn: text,
});

/** What the address of a session holds. */
export type SessionSearch = ReturnType<typeof sessionSearch>;
