import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { ResetPasswordDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import { EntryLink, PasswordField } from "./EntryFields";
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
          <PasswordField
            label="New password"
            errors={fieldErrors(reset.refusals, "password")}
            autoComplete="new-password"
            value={password}
            onChange={setPassword}
          />
          <Button look="primary" type="submit" className="h-9 w-full" disabled={reset.busy}>
            Set the password
          </Button>
          <EntryLink to="/forgot">Request a new link</EntryLink>
        </EntryForm>
      )}
    </EntryPage>
  );
}
