import type { SessionState, TurnState, TurnStatus } from "./state";

function changeTurn(state: SessionState, id: string, change: Partial<TurnState>): SessionState {
  const turn = state.turns[id] ?? { id, status: "running", startedAt: null, finishedAt: null };
  return { ...state, turns: { ...state.turns, [id]: { ...turn, ...change } } };
}

export function queueTurn(state: SessionState, id: string): SessionState {
  if (state.turns[id] || state.queuedTurnIds.includes(id)) return state;
  const queued = changeTurn(state, id, { status: "queued" });
  return { ...queued, queuedTurnIds: [...state.queuedTurnIds, id] };
}

export function startTurn(state: SessionState, id: string, at: string): SessionState {
  const started = changeTurn(state, id, { status: "running", startedAt: at });
  return {
    ...started,
    activeTurnId: id,
    queuedTurnIds: state.queuedTurnIds.filter((queued) => queued !== id),
  };
}

export function endTurn(
  state: SessionState,
  id: string,
  status: Exclude<TurnStatus, "queued" | "running">,
  at: string,
): SessionState {
  const ended = changeTurn(state, id, { status, finishedAt: at });
  return {
    ...ended,
    activeTurnId: state.activeTurnId === id ? null : state.activeTurnId,
    queuedTurnIds: state.queuedTurnIds.filter((queued) => queued !== id),
  };
}
