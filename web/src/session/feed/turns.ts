import { initialState, noUsage, type SessionState, type TurnState, type TurnStatus } from "./state";

export function newTurn(id: string, status: TurnStatus): TurnState {
  return {
    id,
    status,
    startedAt: null,
    inputMessageId: null,
    finishedAt: null,
    usage: noUsage,
    sessionId: null,
  };
}

export function changeTurn(
  state: SessionState,
  id: string,
  change: Partial<TurnState>,
): SessionState {
  const turn = state.turns[id] ?? newTurn(id, "running");
  return { ...state, turns: { ...state.turns, [id]: { ...turn, ...change } } };
}

/** Puts a turn behind those that are queued, or before them when it interrupts the active one. */
export function queueTurn(state: SessionState, id: string, first: boolean): SessionState {
  if (state.turns[id] || state.queuedTurnIds.includes(id)) return state;
  const queued = changeTurn(state, id, { status: "queued" });
  const others = state.queuedTurnIds;
  return {
    ...queued,
    turnCount: state.turnCount + 1,
    queuedTurnIds: first ? [id, ...others] : [...others, id],
  };
}

/** Those that the event does not name stay, behind the others. */
export function reorderTurns(state: SessionState, ids: readonly string[]): SessionState {
  const named = ids.filter((id) => state.queuedTurnIds.includes(id));
  const others = state.queuedTurnIds.filter((id) => !ids.includes(id));
  return { ...state, queuedTurnIds: [...named, ...others] };
}

/** Marks the turn as waiting, or as going on. */
export function holdTurn(
  state: SessionState,
  id: string,
  status: "waiting" | "running",
): SessionState {
  return { ...changeTurn(state, id, { status }), waitsVersion: state.waitsVersion + 1 };
}

export function startTurn(
  state: SessionState,
  id: string,
  inputMessageId: string,
  at: string,
): SessionState {
  const started = changeTurn(state, id, { status: "running", startedAt: at, inputMessageId });
  return {
    ...started,
    turnCount: state.turns[id] ? state.turnCount : state.turnCount + 1,
    activeTurnId: id,
    queuedTurnIds: state.queuedTurnIds.filter((queued) => queued !== id),
  };
}

export function endTurn(
  state: SessionState,
  id: string,
  status: Exclude<TurnStatus, "queued" | "running" | "waiting">,
  at: string,
): SessionState {
  const ended = changeTurn(state, id, { status, finishedAt: at });
  return {
    ...ended,
    activeTurnId: state.activeTurnId === id ? null : state.activeTurnId,
    queuedTurnIds: state.queuedTurnIds.filter((queued) => queued !== id),
  };
}

/** A turn that was cancelled before it began: neither it nor its message is part of the conversation. */
export function dropQueuedTurn(state: SessionState, id: string, at: string): SessionState {
  const ended = endTurn(state, id, "cancelled", at);
  const dropped = state.items.filter((item) => item.kind === "user" && item.turnId === id);
  return withoutMessages(
    ended,
    dropped.map((item) => item.id),
  );
}

/**
 * The session begins here with the history of another one, through the end of a turn. What that one had still to do is
 * none of this one's business, and what it has spent is its own.
 */
export function beginFork(state: SessionState, fromSessionId: string): SessionState {
  const turns: Record<string, TurnState> = {};
  for (const turn of Object.values(state.turns)) {
    if (state.queuedTurnIds.includes(turn.id)) continue;
    // A history can have a history of its own: the nearer beginning was named before.
    turns[turn.id] = { ...turn, sessionId: turn.sessionId ?? fromSessionId };
  }
  return withoutMessages(
    {
      ...state,
      status: "STARTED",
      title: undefined,
      turns,
      activeTurnId: null,
      queuedTurnIds: [],
      usage: initialState.usage,
      waitsVersion: state.waitsVersion + 1,
    },
    state.undelivered,
  );
}

function withoutMessages(state: SessionState, ids: readonly string[]): SessionState {
  if (ids.length === 0) return state;
  return {
    ...state,
    items: state.items.filter((item) => item.kind !== "user" || !ids.includes(item.id)),
    undelivered: state.undelivered.filter((id) => !ids.includes(id)),
  };
}
