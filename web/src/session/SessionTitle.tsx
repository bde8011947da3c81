import { Pencil } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { UpdateSessionTitleDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { RequestError } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";

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
  const [{ fetching, error, data }, update] = useMutation(UpdateSessionTitleDocument);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const answer = await update({ id: sessionId, title: text.trim() || null });
    if (answer.data?.updateSession.session) onClose();
  };
  return (
    <Dialog open onClose={onClose} title="Change the title">
      <form onSubmit={(event) => void submit(event)} className="space-y-4 p-4">
        <RequestError error={error} />
        <TextField
          label="Title"
          errors={data?.updateSession.userErrors.map(({ message }) => message)}
          hint="Empty removes it."
          value={text}
          onChange={setText}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={fetching}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
