import { dataText, type EventOf, position } from "./event";
import { appendItem, changeUserItem } from "./items";
import type { MessageImage, SessionState, UserItem } from "./state";

export type Message = EventOf<"MessageReceived">["message"];

export function textOf(message: Message, part: "TextPart" | "ThinkingPart"): string {
  return message.content
    .map((content) => (content.__typename === part && "text" in content ? content.text : ""))
    .filter((text) => text !== "")
    .join("\n\n");
}

export function imagesOf(message: Message): MessageImage[] {
  return message.content.flatMap((part) =>
    part.__typename === "ImagePart" ? [{ imageId: part.imageId, url: part.url }] : [],
  );
}

export function receiveMessage(
  state: SessionState,
  event: EventOf<"MessageReceived">,
): SessionState {
  const { message } = event;
  const received = appendItem(
    state,
    userItem(message, position(event), dataText(event, "delivery")),
  );
  return { ...received, undelivered: [...state.undelivered, message.id] };
}

export function userItem(
  message: Message,
  position: { turnId: string | null; at: string },
  delivery: string | null,
): UserItem {
  const text = textOf(message, "TextPart");
  return { kind: "user", id: message.id, ...position, text, images: imagesOf(message), delivery };
}

export function editMessage(state: SessionState, event: EventOf<"MessageEdited">): SessionState {
  const { message } = event;
  return changeUserItem(state, message.id, (item) => ({
    ...item,
    text: textOf(message, "TextPart"),
    images: imagesOf(message),
  }));
}

/** The model is asked: it is shown all messages but those of turns that are still queued. */
export function deliver(state: SessionState): SessionState {
  if (state.undelivered.length === 0) return state;
  const queued = new Set(state.queuedTurnIds);
  const waiting = new Set(
    state.items
      .filter(({ kind, turnId }) => kind === "user" && turnId !== null && queued.has(turnId))
      .map(({ id }) => id),
  );
  return { ...state, undelivered: state.undelivered.filter((id) => waiting.has(id)) };
}
