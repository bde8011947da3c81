import type { FormEvent, ReactNode } from "react";
import type { Attempt } from "@/api/useAction";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Problems } from "./Problems";
import { useToast } from "./Toasts";
import { useFocusProblem } from "./useFocusProblem";

interface FormDialogProps {
  title: string;
  /** The label of the button that submits. */
  action: string;
  /** What is said when it was done, where the page doesn't show it by itself. */
  done?: string;
  state: Attempt;
  /** The inputs that show their own refusals; all others are shown beside the buttons. */
  fields?: readonly string[];
  /** What is typed can't be sent. */
  disabled?: boolean;
  /** The dialog closes when this returns something. */
  onSubmit: () => unknown;
  onClose: () => void;
  /** Replaces the cancel button. */
  aside?: ReactNode;
  children: ReactNode;
}

/**
 * A form in a dialog. Its buttons and what went wrong as a whole stay in sight however long the form is, and a refused
 * field is scrolled into view and focused.
 */
export function FormDialog(props: FormDialogProps) {
  const { title, action, done, state, fields, onSubmit, onClose } = props;
  const disabled = state.busy || props.disabled;
  const form = useFocusProblem(state);
  const toast = useToast();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (disabled || !(await onSubmit())) return;
    onClose();
    if (done) toast(done);
  };
  return (
    <Dialog open onClose={onClose} title={title}>
      <form ref={form} data-saves onSubmit={submit} autoComplete="off">
        <div className="space-y-5 p-4">{props.children}</div>
        <div className="sticky bottom-0 space-y-2 rounded-b-xl border-t border-line bg-raised px-4 py-3">
          <Problems of={state} fields={fields} />
          <div className="flex items-center justify-end gap-2">
            {props.aside ?? <Button onClick={onClose}>Cancel</Button>}
            <Button look="primary" type="submit" disabled={disabled}>
              {action}
            </Button>
          </div>
        </div>
      </form>
    </Dialog>
  );
}
