import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { ChangePasswordDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";

export function ChangePasswordDialog({ onClose }: { onClose: () => void }) {
  const [{ fetching, error }, changePassword] = useMutation(ChangePasswordDocument);
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [done, setDone] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { data } = await changePassword({ current, new: next });
    setRefusals(data?.changePassword.userErrors ?? []);
    setDone(data?.changePassword.ok ?? false);
  };

  return (
    <Dialog open onClose={onClose} title="Change password">
      {done ? (
        <div className="space-y-4 p-4 text-sm">
          <p role="status">Your password is changed. All of your other sign-ins have ended.</p>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      ) : (
        <form onSubmit={(event) => void submit(event)} className="space-y-4 p-4">
          {error && <ErrorNote>{describeError(error)}</ErrorNote>}
          {otherErrors(refusals, ["current", "new"]).map((refusal) => (
            <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
          ))}
          <Field label="Current password" errors={fieldErrors(refusals, "current")}>
            {(control) => (
              <input
                {...control}
                type="password"
                autoComplete="current-password"
                required
                className="control"
                value={current}
                onChange={(event) => setCurrent(event.target.value)}
              />
            )}
          </Field>
          <Field label="New password" errors={fieldErrors(refusals, "new")}>
            {(control) => (
              <input
                {...control}
                type="password"
                autoComplete="new-password"
                required
                className="control"
                value={next}
                onChange={(event) => setNext(event.target.value)}
              />
            )}
          </Field>
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button look="primary" type="submit" disabled={fetching}>
              Change password
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
