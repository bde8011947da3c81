import type { ReactNode } from "react";
import type { Attempt } from "@/api/useAction";
import { Button } from "./Button";
import { Problems } from "./Problems";
import { useToast } from "./Toasts";
import { useFocusProblem } from "./useFocusProblem";

interface SaveFormProps {
  state: Attempt;
  /** The inputs that show their own refusals. */
  fields: readonly string[];
  /** Whether there is something to save. */
  changed: boolean;
  /** What is typed can't be saved. */
  invalid?: boolean;
  onDiscard?: () => void;
  /** Returns whether it was saved. */
  onSubmit: () => Promise<boolean>;
  children: ReactNode;
}

/** A form on a page, for settings that exist. */
export function SaveForm(props: SaveFormProps) {
  const { state, fields, changed, invalid = false, onDiscard, onSubmit, children } = props;
  const toast = useToast();
  const form = useFocusProblem(state);
  return (
    <form
      ref={form}
      data-saves
      autoComplete="off"
      className="card space-y-5 p-4"
      onSubmit={async (event) => {
        event.preventDefault();
        if (await onSubmit()) toast("Saved");
      }}
    >
      <Problems of={state} fields={fields} />
      {children}
      <div className="flex items-center justify-end gap-3">
        {changed && onDiscard && (
          <Button look="ghost" onClick={onDiscard}>
            Discard changes
          </Button>
        )}
        <Button look="primary" type="submit" disabled={state.busy || !changed || invalid}>
          {state.busy ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}
