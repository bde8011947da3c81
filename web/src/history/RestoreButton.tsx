import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { describeError } from "@/api/errors";
import type { RevisionFieldsFragment } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import type { RestoreAnswer } from "./restore";

interface RestoreButtonProps {
  revision: RevisionFieldsFragment;
  /** The revision that is in force. */
  current: number;
  restore: (revision: number, reason: string | null) => Promise<RestoreAnswer>;
  onRestored: () => void;
  /** What is shown is out of date. */
  onConflict: () => void;
}

const MOST_CHARACTERS = 500;

export function RestoreButton(props: RestoreButtonProps) {
  const { revision, current, restore, onRestored, onConflict } = props;
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const submit = async () => {
    setBusy(true);
    const answer = await restore(revision.number, reason.trim() || null);
    setBusy(false);
    const refusal = answer.refusals[0];
    if (answer.error) setProblem(describeError(answer.error));
    else if (refusal) setProblem(refusal.message);
    if (refusal?.code === "CONFLICT") onConflict();
    if (answer.revision === null) return;
    setOpen(false);
    onRestored();
  };

  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <RotateCcw size={15} aria-hidden />
        Restore revision {revision.number}
      </Button>
      {open && (
        <FormDialog
          title={`Restore revision ${revision.number}`}
          action={busy ? "Restoring…" : "Restore"}
          state={{ busy, failure: problem, refusals: [] }}
          onSubmit={() => void submit()}
          onClose={() => setOpen(false)}
        >
          <p className="text-sm text-ink-2">
            Its state becomes the current one, as revision {current + 1}. Nothing is lost: revision{" "}
            {current} stays in the history. What runs follows within a second.
          </p>
          <TextField
            label="Reason"
            optional
            maxLength={MOST_CHARACTERS}
            value={reason}
            onChange={setReason}
          />
        </FormDialog>
      )}
    </>
  );
}
