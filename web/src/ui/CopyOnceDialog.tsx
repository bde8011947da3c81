import type { ReactNode } from "react";
import { Button } from "./Button";
import { CopyBlock } from "./CopyBlock";
import { Dialog } from "./Dialog";

interface CopyOnceDialogProps {
  title: string;
  text: string;
  /** Names the button that copies it. */
  label: string;
  /** What it is for. */
  children: ReactNode;
  /** Below it, such as an example. */
  more?: ReactNode;
  onClose: () => void;
}

/** A secret that is in one answer alone: it is shown once and kept nowhere. */
export function CopyOnceDialog(props: CopyOnceDialogProps) {
  const { title, text, label, children, more, onClose } = props;
  return (
    <Dialog open sticky onClose={onClose} title={title}>
      <div className="space-y-4 p-4 text-sm">
        <p role="status">{children}</p>
        <CopyBlock wrap text={text} label={label} />
        {more}
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
