import { type FormEvent, useState } from "react";
import { fieldErrors, otherErrors, type UserError } from "@/api/errors";
import type { EventKind } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";
import type { WebhookDraft } from "./draft";
import { KindPicker } from "./KindPicker";

interface WebhookFormProps {
  initial: WebhookDraft;
  /** The words of the button that sends it. */
  action: string;
  busy: boolean;
  failure: string | null;
  refusals: readonly UserError[];
  /** Whether there is anything to send. */
  isChange: (draft: WebhookDraft) => boolean;
  onSubmit: (draft: WebhookDraft) => void;
  onClose: () => void;
}

/** Where a webhook leads and what it is told of: for a new one, and to change one. */
export function WebhookForm(props: WebhookFormProps) {
  const { initial, action, busy, failure, refusals, isChange, onSubmit, onClose } = props;
  const [draft, setDraft] = useState(initial);
  const [known] = useState<readonly EventKind[]>(initial.kinds);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit(draft);
  };
  return (
    <form onSubmit={submit} className="space-y-5 p-4">
      {failure && <ErrorNote>{failure}</ErrorNote>}
      {otherErrors(refusals, ["url", "kinds"]).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
      <Field
        label="URL"
        hint="Where your program listens for POST requests, e.g. https://example.com/ostler."
        errors={fieldErrors(refusals, "url")}
      >
        {(control) => (
          <input
            {...control}
            type="url"
            required
            autoComplete="off"
            spellCheck={false}
            className="control"
            value={draft.url}
            onChange={(event) => setDraft({ ...draft, url: event.target.value })}
          />
        )}
      </Field>
      <KindPicker
        known={known}
        picked={draft.kinds}
        onChange={(kinds) => setDraft({ ...draft, kinds })}
        errors={fieldErrors(refusals, "kinds")}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={busy || !isChange(draft)}>
          {action}
        </Button>
      </div>
    </form>
  );
}
