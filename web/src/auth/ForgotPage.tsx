import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { RequestPasswordResetDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";
import { EntryForm, EntryPage } from "./EntryPage";

export function ForgotPage() {
  const [{ error, fetching }, request] = useMutation(RequestPasswordResetDocument);
  const [email, setEmail] = useState("");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [asked, setAsked] = useState(false);

  const submit = async () => {
    const { data } = await request({ email });
    setRefusals(data?.requestPasswordReset.userErrors ?? []);
    setAsked(data?.requestPasswordReset.ok ?? false);
  };

  return (
    <EntryPage title="Set a new password">
      {asked ? (
        <div className="card space-y-4 p-5 text-sm">
          <p role="status">
            If there is an account with this e-mail, a link to set a new password is on its way. It
            works once, within an hour. Where this server sends no mail, its operator finds the link
            in the log.
          </p>
          <Link to="/sign-in" className="rounded text-ink-2 underline underline-offset-2">
            Back to sign-in
          </Link>
        </div>
      ) : (
        <EntryForm onSubmit={submit}>
          {error && <ErrorNote>{describeError(error)}</ErrorNote>}
          {otherErrors(refusals, ["email"]).map((refusal) => (
            <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
          ))}
          <Field label="E-mail" errors={fieldErrors(refusals, "email")}>
            {(control) => (
              <input
                {...control}
                type="email"
                autoComplete="username"
                required
                className="control"
                value={email}
                onChange={(event) => setEmail(event.target.value)}
              />
            )}
          </Field>
          <Button look="primary" type="submit" className="h-9 w-full" disabled={fetching}>
            Send the link
          </Button>
          <p className="text-center text-sm">
            <Link to="/sign-in" className="rounded text-ink-2 underline underline-offset-2">
              Back to sign-in
            </Link>
          </p>
        </EntryForm>
      )}
    </EntryPage>
  );
}
