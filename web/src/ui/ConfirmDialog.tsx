import type { ReactNode } from "react";
import type { Attempt } from "@/api/useAction";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Problems } from "./Problems";

interface ConfirmDialogProps {
  title: string;
  /** The words of the button that does it. */
  action: string;
  state: Attempt;
  /** The dialog closes when this returns something. */
  onConfirm: () => unknown;
  onClose: () => void;
  /** What will happen. */
  children: ReactNode;
}

/** Asks before something that can't be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, action, state, onConfirm, onClose, children } = props;
  const confirm = async () => {
    if (await onConfirm()) onClose();
  };
  return (
    <Dialog open onClose={onClose} title={title}>
      <div className="space-y-4 p-4 text-sm">
        <Problems of={state} />
        <p className="text-ink-2">{children}</p>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabled={state.busy} onClick={() => void confirm()}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
