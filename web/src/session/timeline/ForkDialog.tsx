import { useAction } from "@/api/useAction";
import { ForkSessionDocument } from "@/gql/graphql";
import { FormDialog } from "@/ui/FormDialog";
import { useMade } from "../useMade";

interface ForkDialogProps {
  sessionId: string;
  turnId: string;
  onClose: () => void;
}

/** Makes a session with the same history up to the end of a turn, and goes there. */
export default function ForkDialog({ sessionId, turnId, onClose }: ForkDialogProps) {
  const fork = useAction(ForkSessionDocument);
  const made = useMade();
  const make = () =>
    made(turnId, (idempotencyKey) =>
      fork.run({ input: { sessionId, throughTurnId: turnId, idempotencyKey } }),
    );
  return (
    <FormDialog
      title="Fork after this turn"
      action={fork.busy ? "Forking…" : "Fork"}
      state={fork}
      fields={[]}
      onSubmit={make}
      onClose={onClose}
    >
      <p className="text-sm text-ink-2">
        A new session begins with the conversation and files up to the end of this turn. This
        session stays as it is.
      </p>
    </FormDialog>
  );
}
