import { oneOf, searchOf, text } from "@/shell/search";

export type SessionView = "chat" | "timeline" | "events" | "config";

/** What can be seen of a call. */
export const INSPECTED = ["input", "output", "usage", "timing", "raw"] as const;
export type Inspected = (typeof INSPECTED)[number];

export const sessionSearch = searchOf({
  /** The chat is what there is without it. */
  view: oneOf(["timeline", "events", "config"]),
  /** The events view shows this kind only. */
  kind: text,
  /** The events view shows those that hold this text. */
  q: text,
  /** The events view shows those of this turn only. */
  turn: text,
  /** The chat is scrolled to this message. */
  message: text,
  /** The timeline has this turn or call open, */
  call: text,
  /** with this of it. */
  part: oneOf(INSPECTED),
});

/** What the address of a session holds. */
export type SessionSearch = ReturnType<typeof sessionSearch>;
