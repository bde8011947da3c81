import { Pencil } from "lucide-react";
import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { UpdateSessionTitleDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";

interface SessionTitleProps {
  sessionId: string;
  title: string | null;
  editable: boolean;
}

export function SessionTitle({ sessionId, title, editable }: SessionTitleProps) {
  const [editing, setEditing] = useState(false);
  const shown = title ?? "Untitled session";
  return (
    <>
      <div className="flex min-w-0 items-center gap-1">
        <h1 className="truncate text-base font-semibold">{shown}</h1>
        {editable && (
          <button
            type="button"
            aria-label="Change the title"
            title="Change the title"
            onClick={() => setEditing(true)}
            className="rounded p-1 text-ink-3 hover:bg-hover hover:text-ink"
          >
            <Pencil size={13} />
          </button>
        )}
      </div>
      {editing && (
        <TitleDialog sessionId={sessionId} title={title ?? ""} onClose={() => setEditing(false)} />
      )}
    </>
  );
}

interface TitleDialogProps {
  sessionId: string;
  title: string;
  onClose: () => void;
}

function TitleDialog({ sessionId, title, onClose }: TitleDialogProps) {
  const [text, setText] = useState(title);
  const update = useAction(UpdateSessionTitleDocument);
  return (
    <FormDialog
      title="Change the title"
      action="Save"
      state={update}
      fields={["title"]}
      onSubmit={() => update.run({ id: sessionId, title: text.trim() || null })}
      onClose={onClose}
    >
      <TextField
        label="Title"
        errors={fieldErrors(update.refusals, "title")}
        hint="Empty removes it."
        value={text}
        onChange={setText}
      />
    </FormDialog>
  );
}
