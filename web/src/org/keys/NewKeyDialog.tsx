import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, type UserError } from "@/api/errors";
import { CreateApiKeyDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { CopyBlock } from "@/ui/CopyBlock";
import { Dialog } from "@/ui/Dialog";
import { SelectField, TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { createKeyInput, type KeyLifetime, keyProblem, newKeyDraft } from "./keyDraft";
import { PermissionPicker } from "./PermissionPicker";

const LIFETIMES: readonly (readonly [KeyLifetime, string])[] = [
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "1 year"],
  ["date", "On a date…"],
  ["never", "Never"],
];

interface NewKeyDialogProps {
  onCreated: () => void;
  onClose: () => void;
}

export function NewKeyDialog({ onCreated, onClose }: NewKeyDialogProps) {
  const { permissions: held } = useViewer();
  const [{ fetching, error }, create] = useMutation(CreateApiKeyDocument);
  const [draft, setDraft] = useState(() => newKeyDraft(held));
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [strict, setStrict] = useState(false);
  // The key is in one answer alone, and kept nowhere else than here.
  const [key, setKey] = useState<string | null>(null);
  const problem = keyProblem(draft);

  const submit = async () => {
    setStrict(true);
    if (problem !== null) return;
    const { data } = await create({ input: createKeyInput(draft, Date.now()) });
    setRefusals(data?.createApiKey.userErrors ?? []);
    if (!data?.createApiKey.key) return;
    setKey(data.createApiKey.key);
    onCreated();
  };

  if (key !== null) {
    return (
      <Dialog open sticky onClose={onClose} title="Copy the key">
        <div className="space-y-4 p-4 text-sm">
          <p role="status">
            It is shown only once. Anyone who has it can use its permissions, so store it with your
            other secrets.
          </p>
          <CopyBlock wrap text={key} label="Copy key" />
          <div>
            <p className="mb-1.5 text-xs text-ink-3">
              Example request, with the key in $OSTLER_API_KEY
            </p>
            <CopyBlock text={exampleRequest()} label="Copy request" />
          </div>
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="New API key"
      action={fetching ? "Creating…" : "Create key"}
      failure={error ? describeError(error) : null}
      refusals={refusals}
      fields={["name", "permissions", "expiresAt"]}
      disabled={fetching}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What uses the key. Its actions appear in the audit log under this name."
        errors={fieldErrors(refusals, "name")}
        required
        value={draft.name}
        onChange={(next) => setDraft({ ...draft, name: next })}
      />
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <SelectField
          label="Expires"
          errors={fieldErrors(refusals, "expiresAt")}
          value={draft.lifetime}
          options={LIFETIMES}
          onChange={(lifetime) => setDraft({ ...draft, lifetime })}
        />
        {draft.lifetime === "date" && (
          <TextField
            label="Expiry date"
            type="date"
            required
            value={draft.date}
            onChange={(next) => setDraft({ ...draft, date: next })}
          />
        )}
      </div>
      <PermissionPicker
        held={held}
        picked={draft.permissions}
        onChange={(permissions) => setDraft({ ...draft, permissions })}
        errors={[
          ...(strict && problem !== null ? [problem] : []),
          ...fieldErrors(refusals, "permissions"),
        ]}
      />
    </FormDialog>
  );
}

/** The key itself stays out of it: what is copied from here may end up in a script. */
function exampleRequest(): string {
  return [
    `curl ${location.origin}/graphql \\`,
    `  -H "Authorization: Bearer $OSTLER_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"query": "{ viewer { permissions } }"}'`,
  ].join("\n");
}
