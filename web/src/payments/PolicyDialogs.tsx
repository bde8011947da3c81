import { useState } from "react";
import { useAction } from "@/api/useAction";
import {
  CreatePaymentPolicyDocument,
  DeletePaymentPolicyDocument,
  UpdatePaymentPolicyDocument,
} from "@/gql/graphql";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { FormDialog } from "@/ui/FormDialog";
import {
  createPolicyInput,
  draftOfPolicy,
  NEW_POLICY,
  POLICY_FIELDS,
  updatePolicyInput,
} from "./draft";
import { PolicyFields } from "./PolicyFields";
import type { Policy } from "./words";

export function NewPolicyDialog({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_POLICY);
  const create = useAction(CreatePaymentPolicyDocument);
  const input = createPolicyInput(draft);
  return (
    <FormDialog
      title="New payment policy"
      action="Create policy"
      state={create}
      fields={POLICY_FIELDS}
      disabled={input === null}
      onSubmit={() => input && create.run({ input })}
      onClose={onClose}
    >
      <PolicyFields
        draft={draft}
        onChange={setDraft}
        refusals={create.refusals}
        hasSecret={false}
      />
    </FormDialog>
  );
}

interface PolicyProps {
  policy: Policy;
  onClose: () => void;
}

export function EditPolicyDialog({ policy, onClose }: PolicyProps) {
  const [stored] = useState(policy);
  const [draft, setDraft] = useState(() => draftOfPolicy(stored));
  const update = useAction(UpdatePaymentPolicyDocument);
  const input = updatePolicyInput(draft, stored);
  return (
    <FormDialog
      title={`Edit ${stored.name}`}
      action="Save"
      done="Saved"
      state={update}
      fields={POLICY_FIELDS}
      disabled={input === null}
      onSubmit={() => input && update.run({ id: stored.id, input })}
      onClose={onClose}
    >
      <PolicyFields draft={draft} onChange={setDraft} refusals={update.refusals} hasSecret />
    </FormDialog>
  );
}

/** Takes a policy out of force, or puts it back. */
export function SwitchPolicyDialog({ policy, onClose }: PolicyProps) {
  const [{ id, name, enabled }] = useState(policy);
  const update = useAction(UpdatePaymentPolicyDocument);
  return (
    <ConfirmDialog
      title={enabled ? "Disable policy" : "Enable policy"}
      action={enabled ? "Disable" : "Enable"}
      state={update}
      onConfirm={() => update.run({ id, input: { enabled: !enabled } })}
      onClose={onClose}
    >
      {enabled
        ? `No new payments are made under ${name} until you enable it again. Payments in progress continue.`
        : `Tools can pay under ${name} again immediately.`}
    </ConfirmDialog>
  );
}

export function DeletePolicyDialog({ policy: { id, name }, onClose }: PolicyProps) {
  const remove = useAction(DeletePaymentPolicyDocument);
  return (
    <ConfirmDialog
      title="Delete policy"
      action="Delete"
      state={remove}
      onConfirm={() => remove.run({ id })}
      onClose={onClose}
    >
      No more payments are made under {name}, and its secret is deleted. Past payments stay listed.
      This can't be undone.
    </ConfirmDialog>
  );
}
