import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { ChangePasswordDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { FormDialog } from "@/ui/FormDialog";
import { PasswordField } from "./EntryFields";

export function ChangePasswordDialog({ onClose }: { onClose: () => void }) {
  const change = useAction(ChangePasswordDocument);
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [done, setDone] = useState(false);

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
      state={change}
      fields={["current", "new"]}
      onSubmit={async () => setDone((await change.run({ current, new: next }))?.ok ?? false)}
      onClose={onClose}
    >
      <PasswordField
        label="Current password"
        errors={fieldErrors(change.refusals, "current")}
        value={current}
        onChange={setCurrent}
      />
      <PasswordField
        label="New password"
        errors={fieldErrors(change.refusals, "new")}
        autoComplete="new-password"
        value={next}
        onChange={setNext}
      />
    </FormDialog>
  );
}
