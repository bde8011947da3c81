import { RotateCcw } from "lucide-react";
import { useState } from "react";
import type { Action } from "@/api/useAction";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";

export interface Restoration {
  id: string;
  revision: number;
  reason?: string | null;
}

interface RestoreButtonProps {
  id: string;
  revision: number;
  /** The revision that is in force. */
  current: number;
  restore: Action<Restoration, object>;
  /** It was restored or refused, and then what is shown may be out of date. */
  onAnswer: (restored: boolean) => void;
}

const MOST_CHARACTERS = 500;

export function RestoreButton(props: RestoreButtonProps) {
  const { id, revision, current, restore, onAnswer } = props;
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");

  const submit = async () => {
    const restored = (await restore.run({ id, revision, reason: reason.trim() || null })) !== null;
    setOpen(!restored);
    onAnswer(restored);
  };

  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <RotateCcw size={15} aria-hidden />
        Restore revision {revision}
      </Button>
      {open && (
        <FormDialog
          title={`Restore revision ${revision}`}
          action={restore.busy ? "Restoring…" : "Restore"}
          state={restore}
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
