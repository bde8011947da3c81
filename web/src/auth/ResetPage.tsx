import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useMutation } from "urql";
import { fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { ResetPasswordDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";
import { EntryForm, EntryPage } from "./EntryPage";

export function ResetPage() {
  const { token } = useSearch({ from: "/reset" });
  const [{ error, fetching }, reset] = useMutation(ResetPasswordDocument);
  const [password, setPassword] = useState("");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [done, setDone] = useState(false);

  const submit = async () => {
    const { data } = await reset({ token, password });
    setRefusals(data?.resetPassword.userErrors ?? []);
    setDone(data?.resetPassword.ok ?? false);
  };

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
          <RequestError error={error} />
          {otherErrors(refusals, ["password"]).map((refusal) => (
            <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
          ))}
          <TextField
            label="New password"
            errors={fieldErrors(refusals, "password")}
            type="password"
            autoComplete="new-password"
            required
            value={password}
            onChange={setPassword}
          />
          <Button look="primary" type="submit" className="h-9 w-full" disabled={fetching}>
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
