import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { ResetPasswordDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Problems } from "@/ui/Problems";
import { EntryForm, EntryPage } from "./EntryPage";

export function ResetPage() {
  const { token } = useSearch({ from: "/reset" });
  const reset = useAction(ResetPasswordDocument);
  const [password, setPassword] = useState("");
  const [done, setDone] = useState(false);

  const submit = async () => setDone((await reset.run({ token, password }))?.ok ?? false);

  return (
    <EntryPage title="Choose a new password">
      {done ? (
        <div className="card space-y-4 p-5 text-sm">
          <p role="status">Password changed. You were signed out everywhere.</p>
          <Link to="/sign-in" className="rounded text-ink-2 underline underline-offset-2">
            Sign in
          </Link>
        </div>
      ) : (
        <EntryForm onSubmit={submit}>
          <Problems of={reset} fields={["password"]} />
          <TextField
            label="New password"
            errors={fieldErrors(reset.refusals, "password")}
            type="password"
            autoComplete="new-password"
            required
            value={password}
            onChange={setPassword}
          />
          <Button look="primary" type="submit" className="h-9 w-full" disabled={reset.busy}>
            Set the password
          </Button>
          <p className="text-center text-sm">
            <Link to="/forgot" className="rounded text-ink-2 underline underline-offset-2">
              Request a new link
            </Link>
          </p>
        </EntryForm>
      )}
    </EntryPage>
  );
}
