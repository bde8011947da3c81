import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, type UserError } from "@/api/errors";
import { ChangePasswordDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";

export function ChangePasswordDialog({ onClose }: { onClose: () => void }) {
  const [{ fetching, error }, changePassword] = useMutation(ChangePasswordDocument);
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [done, setDone] = useState(false);

  const submit = async () => {
    const { data } = await changePassword({ current, new: next });
    setRefusals(data?.changePassword.userErrors ?? []);
    setDone(data?.changePassword.ok ?? false);
  };

  if (done) {
    return (
      <Dialog open onClose={onClose} title="Change password">
        <div className="space-y-4 p-4 text-sm">
          <p role="status">Password changed. You were signed out everywhere else.</p>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="Change password"
      action="Change password"
      failure={error ? describeError(error) : null}
      refusals={refusals}
      fields={["current", "new"]}
      disabled={fetching}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Current password"
        errors={fieldErrors(refusals, "current")}
        type="password"
        autoComplete="current-password"
        required
        value={current}
        onChange={setCurrent}
      />
      <TextField
        label="New password"
        errors={fieldErrors(refusals, "new")}
        type="password"
        autoComplete="new-password"
        required
        value={next}
        onChange={setNext}
      />
    </FormDialog>
  );
}
