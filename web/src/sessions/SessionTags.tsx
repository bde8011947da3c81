import { Link } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { useState } from "react";
import { useAction } from "@/api/useAction";
import { UpdateSessionTagsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Field } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { tagsOf } from "./tags";

/** A session as far as its tags are concerned. */
export interface Tagged {
  id: string;
  tags: readonly string[];
}

interface SessionTagsProps {
  tags: readonly string[];
  /** On one line, however many there are. */
  short?: boolean;
  onEdit: () => void;
}

/** The tags of a session, each leading to all sessions that have it. */
export function SessionTags({ tags, short = false, onEdit }: SessionTagsProps) {
  const mayWrite = useMay("SESSIONS_WRITE");
  return (
    <span className="flex min-w-0 items-center gap-1">
      <span
        className={short ? "flex min-w-0 gap-1 overflow-hidden" : "flex min-w-0 flex-wrap gap-1"}
      >
        {tags.map((tag) => (
          <Link
            key={tag}
            to="/sessions"
            search={{ tag }}
            title={`Sessions tagged ${tag}`}
            className="relative z-10 max-w-32 truncate rounded border border-line bg-sunken px-1.5 text-2xs text-ink-2 hover:text-ink"
          >
            {tag}
          </Link>
        ))}
      </span>
      {mayWrite && (
        <button
          type="button"
          aria-label={tags.length > 0 ? "Change the tags" : "Add tags"}
          onClick={onEdit}
          className="relative z-10 inline-flex items-center gap-1 rounded p-1 text-2xs text-ink-3 hover:bg-hover hover:text-ink"
        >
          <Pencil size={11} aria-hidden />
          {tags.length === 0 && !short && "Add tags"}
        </button>
      )}
    </span>
  );
}

interface TagsDialogProps {
  session: Tagged;
  onClose: () => void;
}

/** Belongs where it outlives the row of the session. */
export function TagsDialog({ session: { id, tags }, onClose }: TagsDialogProps) {
  const [text, setText] = useState(tags.join("\n"));
  const update = useAction(UpdateSessionTagsDocument);
  return (
    <FormDialog
      title="Tags"
      action="Save"
      state={update}
      onSubmit={() => update.run({ id, tags: tagsOf(text) })}
      onClose={onClose}
    >
      <Field label="Tags" hint="One on each line.">
        {(control) => (
          <textarea
            {...control}
            className="control h-28 resize-y"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
