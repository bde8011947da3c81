import { ForkButton } from "../ForkButton";
import { useChatActions } from "./actions";
import { TurnFeedback } from "./TurnFeedback";

/** What can be done at the end of a turn: rate it, and go on from here in a session of its own. */
export function TurnEnd({ turnId }: { turnId: string | null }) {
  const { mayWrite, sessionOf } = useChatActions();
  if (turnId === null) return null;
  return (
    <>
      <TurnFeedback turnId={turnId} />
      {mayWrite && (
        <ForkButton
          sessionId={sessionOf(turnId)}
          throughTurnId={turnId}
          label="Fork from here"
          className="-ml-1.5 h-6 px-1.5 text-xs font-normal text-ink-3"
        />
      )}
    </>
  );
}
