import type { SessionNowQuery } from "@/gql/graphql";
import type { SessionEvent } from "./event";
import { foldEvent } from "./fold";
import { userItem } from "./messages";
import { type ChatItem, initialState, type SessionState, type TurnState } from "./state";
import { newTurn } from "./turns";

export type SessionNow = NonNullable<SessionNowQuery["session"]>;

/** The session at the end of its newest events. What those can't say without the ones before them was read beside them. */
export function openSession(now: SessionNow): SessionState {
  const { lastSequence, status, title, activeTurn, queuedTurns } = now;
  const { nodes } = now.events;
  const first = nodes.findIndex(({ sequence }) => (sequence ?? 0) > lastSequence);
  const known = first < 0 ? nodes : nodes.slice(0, first);
  const page = known.reduce(foldEvent, initialState);
  const turns: Record<string, TurnState> = {};
  for (const { id } of queuedTurns) turns[id] = newTurn(id, "queued");
  if (activeTurn) {
    turns[activeTurn.id] = newTurn(activeTurn.id, status === "WAITING" ? "waiting" : "running");
  }
  const missing = queuedTurns.filter(
    ({ inputMessage }) => !page.items.some(({ id }) => id === inputMessage.id),
  );
  const opened: SessionState = {
    ...page,
    lastSequence,
    caughtUp: true,
    status,
    title,
    usage: now.usage,
    turnCount: now.turns.totalCount ?? page.turnCount,
    turns: { ...turns, ...page.turns },
    activeTurnId: activeTurn?.id ?? null,
    queuedTurnIds: queuedTurns.map(({ id }) => id),
    undelivered: [...page.undelivered, ...missing.map(({ inputMessage }) => inputMessage.id)],
    items: [
      ...page.items,
      ...missing.map(({ id, queuedAt, inputMessage }) =>
        userItem(inputMessage, { turnId: id, at: queuedAt }, null),
      ),
    ],
  };
  return nodes.slice(known.length).reduce(foldEvent, opened);
}

/**
 * The session with a longer past: `log` is all that has been read. How things stand now does not change by that, nor what
 * is under way, which is more than the log knows.
 */
export function withPast(session: SessionState, log: readonly SessionEvent[]): SessionState {
  const past = log.reduce(foldEvent, initialState);
  const shown = new Map(session.items.map((item) => [keyOf(item), item]));
  const items = past.items.map((item) => {
    const open = "state" in item && (item.state === "streaming" || item.state === "running");
    const current = shown.get(keyOf(item));
    shown.delete(keyOf(item));
    return open && current ? current : item;
  });
  return {
    ...session,
    turns: { ...session.turns, ...past.turns },
    feedback: { ...session.feedback, ...past.feedback },
    items: [...items, ...shown.values()],
  };
}

/** Tells items apart; an id alone does not. */
export function keyOf({ kind, id }: ChatItem): string {
  return `${kind}:${id}`;
}
