import { ForkButton } from "../ForkButton";
import { useChatActions } from "./actions";

/** Offers to go on from the end of a turn in a session of its own. */
export function TurnFork({ turnId }: { turnId: string | null }) {
  const { mayWrite, sessionOf } = useChatActions();
  if (!mayWrite || turnId === null) return null;
  return (
    <ForkButton
      sessionId={sessionOf(turnId)}
      throughTurnId={turnId}
      label="Fork from here"
      className="-ml-1.5 h-6 px-1.5 text-xs font-normal text-ink-3"
    />
  );
}
