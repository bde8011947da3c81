import { position, type SessionEvent } from "./event";
import type { AgentItem, ChatItem, NoticeItem, SessionState, ToolItem, UserItem } from "./state";

/** What is streaming stands near the end, so looking from there finds it at once in a log of any length. */
function indexOfItem(items: readonly ChatItem[], kind: ChatItem["kind"], id: string): number {
  return items.findLastIndex((item) => item.id === id && item.kind === kind);
}

export function appendItem(state: SessionState, item: ChatItem): SessionState {
  return { ...state, items: [...state.items, item] };
}

export function appendNotice(
  state: SessionState,
  event: SessionEvent,
  notice: NoticeItem["notice"],
): SessionState {
  return appendItem(state, { kind: "notice", id: event.id, ...position(event), notice });
}

interface Position {
  readonly turnId: string | null;
  readonly at: string;
}

/** Changes the agent's message with this id; makes it first when its opening event was not seen. */
export function changeAgentItem(
  state: SessionState,
  id: string,
  position: Position,
  change: (item: AgentItem) => AgentItem,
): SessionState {
  const index = indexOfItem(state.items, "agent", id);
  const found = state.items[index];
  if (found?.kind === "agent") {
    const changed = change(found);
    return changed === found ? state : { ...state, items: state.items.with(index, changed) };
  }
  const fresh: AgentItem = {
    kind: "agent",
    id,
    ...position,
    text: "",
    thinking: "",
    thinkingDone: false,
    state: "streaming",
    model: null,
    images: [],
    retry: null,
    error: null,
  };
  return appendItem(state, change(fresh));
}

/** Changes a message of the user, where it is known. */
export function changeUserItem(
  state: SessionState,
  id: string,
  change: (item: UserItem) => UserItem,
): SessionState {
  const index = indexOfItem(state.items, "user", id);
  const found = state.items[index];
  if (found?.kind !== "user") return state;
  return { ...state, items: state.items.with(index, change(found)) };
}

/** Changes the card of this tool call; makes it first when its opening event was not seen. */
export function changeToolItem(
  state: SessionState,
  id: string,
  toolName: string,
  position: Position,
  change: (item: ToolItem) => ToolItem,
): SessionState {
  const index = indexOfItem(state.items, "tool", id);
  const found = state.items[index];
  if (found?.kind === "tool") {
    return { ...state, items: state.items.with(index, change(found)) };
  }
  const fresh: ToolItem = {
    kind: "tool",
    id,
    ...position,
    toolName,
    displayName: toolName,
    arguments: null,
    narration: null,
    state: "running",
    progress: null,
    result: null,
    error: null,
    durationMs: null,
  };
  return appendItem(state, change(fresh));
}

/** Closes what a turn left open: after its end nothing of it can still be streaming or running. */
export function closeItemsOfTurn(state: SessionState, turnId: string): SessionState {
  const items = state.items.map((item): ChatItem => {
    if (item.turnId !== turnId) return item;
    if (item.kind === "agent" && item.state === "streaming") {
      return { ...item, state: "interrupted", thinkingDone: true, retry: null };
    }
    if (item.kind === "tool" && item.state === "running") return { ...item, state: "unknown" };
    return item;
  });
  return { ...state, items };
}

/** A queued message was accepted long before its turn began; the chat shows it where its turn begins. */
export function moveInputToEnd(
  state: SessionState,
  turnId: string,
  inputMessageId: string,
): SessionState {
  const isInput = (item: ChatItem) =>
    item.kind === "user" && (item.id === inputMessageId || item.turnId === turnId);
  const inputs = state.items.filter(isInput);
  if (inputs.length === 0) return state;
  const others = state.items.filter((item) => !isInput(item));
  return { ...state, items: [...others, ...inputs] };
}
