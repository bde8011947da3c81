import { createContext, useContext } from "react";
import type { Feedback } from "../feed/feedback";
import type { Say } from "./useFeedback";

/** What lines of the chat can do besides being read. */
export interface ChatActions {
  sessionId: string;
  mayWrite: boolean;
  /** The turn that ended last, while nothing is under way: it can be continued. */
  latestTurnId: string | null;
  /** Grows with each event that may have changed how the budgets stand. */
  budgetVersion: number;
  /** The cards that the reader has opened: they may leave the page and come back. */
  opened: Set<string>;
  /** Sends a message as if it had been typed. */
  send: (text: string) => void;
  /** The session that a turn ran in: another one for the history that a fork began with. */
  sessionOf: (turnId: string) => string;
  /** What is said of turns, by their ids. */
  feedback: Readonly<Record<string, readonly Feedback[]>>;
  /** The server has taken what the viewer says of a turn, or that they take it back. */
  onRated: (turnId: string, say: Say | null) => void;
  /** Opens what changes the comment on a turn. */
  onComment: (turnId: string, own: Say) => void;
  /** The message that a turn began with; null when that is not known. */
  inputOf: (turnId: string) => string | null;
}

export const ChatActionsContext = createContext<ChatActions | null>(null);

export function useChatActions(): ChatActions {
  const actions = useContext(ChatActionsContext);
  if (!actions) throw new Error("useChatActions is used outside of a chat");
  return actions;
}
