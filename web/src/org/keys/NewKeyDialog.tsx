import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { CreateApiKeyDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { CopyBlock } from "@/ui/CopyBlock";
import { CopyOnceDialog } from "@/ui/CopyOnceDialog";
import { SelectField, TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { curlCommand } from "@/ui/graphqlRequest";
import { fieldsOf } from "@/ui/useFields";
import { createKeyInput, type KeyLifetime, keyProblem, newKeyDraft } from "./keyDraft";
import { PermissionPicker } from "./PermissionPicker";

const LIFETIMES: readonly (readonly [KeyLifetime, string])[] = [
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "1 year"],
  ["date", "On a date…"],
  ["never", "Never"],
];

const EXAMPLE = curlCommand('{"query": "{ viewer { permissions } }"}');

interface NewKeyDialogProps {
  onCreated: () => void;
  onClose: () => void;
}

export function NewKeyDialog({ onCreated, onClose }: NewKeyDialogProps) {
  const { permissions: held } = useViewer();
  const create = useAction(CreateApiKeyDocument);
  const [draft, setDraft] = useState(() => newKeyDraft(held));
  const [strict, setStrict] = useState(false);
  // The key is in one answer alone, and kept nowhere else than here.
  const [key, setKey] = useState<string | null>(null);
  const problem = keyProblem(draft);
  const field = fieldsOf(draft, setDraft, create.refusals);

  const submit = async () => {
    setStrict(true);
    if (problem !== null) return;
    const answer = await create.run({ input: createKeyInput(draft, Date.now()) });
    if (!answer) return;
    setKey(answer.key);
    onCreated();
  };

  if (key !== null) {
    return (
      <CopyOnceDialog
        title="Copy the key"
        text={key}
        label="Copy key"
        onClose={onClose}
        more={
          <div>
            <p className="mb-1.5 text-xs text-ink-3">
              Example request, with the key in $OSTLER_API_KEY
            </p>
            <CopyBlock text={EXAMPLE} label="Copy request" />
          </div>
        }
      >
        It is shown only once. Anyone who has it can use its permissions, so store it with your
        other secrets.
      </CopyOnceDialog>
    );
  }
  return (
    <FormDialog
      title="New API key"
      action={create.busy ? "Creating…" : "Create key"}
      state={create}
      fields={["name", "permissions", "expiresAt"]}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What uses the key. Its actions appear in the audit log under this name."
        required
        {...field("name")}
      />
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <SelectField
          label="Expires"
          {...field("lifetime")}
          errors={fieldErrors(create.refusals, "expiresAt")}
          options={LIFETIMES}
        />
        {draft.lifetime === "date" && (
          <TextField label="Expiry date" type="date" required {...field("date")} />
        )}
      </div>
      <PermissionPicker
        held={held}
        picked={draft.permissions}
        onChange={(permissions) => setDraft({ ...draft, permissions })}
        errors={[
          ...(strict && problem !== null ? [problem] : []),
          ...fieldErrors(create.refusals, "permissions"),
        ]}
      />
    </FormDialog>
  );
}
