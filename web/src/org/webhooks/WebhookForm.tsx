import { useState } from "react";
import type { Attempt } from "@/api/useAction";
import type { EventKind } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { useFields } from "@/ui/useFields";
import type { WebhookDraft } from "./draft";
import { KindPicker } from "./KindPicker";

interface WebhookFormProps {
  title: string;
  initial: WebhookDraft;
  /** The words of the button that sends it. */
  action: string;
  state: Attempt;
  /** Whether there is anything to send. */
  isChange: (draft: WebhookDraft) => boolean;
  /** The dialog closes when this returns something. */
  onSubmit: (draft: WebhookDraft) => unknown;
  onClose: () => void;
}

/** Where a webhook leads and what it is told of: for a new one, and to change one. */
export function WebhookForm(props: WebhookFormProps) {
  const { title, initial, action, state, isChange, onSubmit, onClose } = props;
  const [draft, field] = useFields(initial, state.refusals);
  const [known] = useState<readonly EventKind[]>(initial.kinds);
  return (
    <FormDialog
      title={title}
      action={action}
      state={state}
      fields={["url", "kinds"]}
      disabled={!isChange(draft)}
      onSubmit={() => onSubmit(draft)}
      onClose={onClose}
    >
      <TextField
        label="URL"
        hint="The endpoint that receives POST requests, e.g. https://example.com/ostler."
        type="url"
        required
        spellCheck={false}
        {...field("url")}
      />
      <KindPicker known={known} {...field("kinds")} />
    </FormDialog>
  );
}
