import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { RateTurnDocument } from "@/gql/graphql";
import { Field } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import type { Say } from "./useFeedback";

const COMMENT_CHARACTERS = 2000;

interface CommentDialogProps {
  turnId: string;
  /** What the viewer has said until now. */
  own: Say;
  onSaved: (say: Say) => void;
  onClose: () => void;
}

/** Belongs where it outlives the row of the answer. */
export function CommentDialog({ turnId, own, onSaved, onClose }: CommentDialogProps) {
  const rate = useAction(RateTurnDocument);
  const [comment, setComment] = useState(own.comment ?? "");
  const save = async () => {
    const say = { rating: own.rating, comment: comment.trim() || null };
    const saved = await rate.run({ input: { turnId, ...say } });
    if (saved) onSaved(say);
    return saved;
  };
  return (
    <FormDialog
      title={own.rating === "UP" ? "What was good?" : "What was wrong?"}
      action="Save"
      state={rate}
      fields={["comment"]}
      onSubmit={save}
      onClose={onClose}
    >
      <Field
        label="Comment"
        hint="Everyone who can read this session can see it."
        errors={fieldErrors(rate.refusals, "comment")}
      >
        {(control) => (
          <textarea
            {...control}
            rows={4}
            maxLength={COMMENT_CHARACTERS}
            className="control h-auto py-1.5"
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
