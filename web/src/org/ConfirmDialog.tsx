import type { ReactNode } from "react";
import type { UserError } from "@/api/errors";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Problems } from "@/waits/Problems";

interface ConfirmDialogProps {
  title: string;
  /** The words of the button that does it. */
  action: string;
  busy: boolean;
  failure: string | null;
  refusals: readonly UserError[];
  onConfirm: () => void;
  onClose: () => void;
  /** What will happen. */
  children: ReactNode;
}

/** Asks before something that can't be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, action, busy, failure, refusals, onConfirm, onClose, children } = props;
  return (
    <Dialog open onClose={onClose} title={title}>
      <div className="space-y-4 p-4 text-sm">
        <Problems failure={failure} refusals={refusals} />
        <p className="text-ink-2">{children}</p>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabled={busy} onClick={onConfirm}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
