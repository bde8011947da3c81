import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMutation } from "urql";
import { fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { RequestPasswordResetDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";
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
    <EntryPage title="Reset your password">
      {asked ? (
        <div className="card space-y-4 p-5 text-sm">
          <p role="status">
            If this email has an account, we sent it a link to reset the password. The link works
            once and expires in an hour. If this server doesn't send email, its operator can find
            the link in the log.
          </p>
          <Link to="/sign-in" className="rounded text-ink-2 underline underline-offset-2">
            Back to sign-in
          </Link>
        </div>
      ) : (
        <EntryForm onSubmit={submit}>
          <RequestError error={error} />
          {otherErrors(refusals, ["email"]).map((refusal) => (
            <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
          ))}
          <TextField
            label="Email"
            errors={fieldErrors(refusals, "email")}
            type="email"
            autoComplete="username"
            required
            value={email}
            onChange={setEmail}
          />
          <Button look="primary" type="submit" className="h-9 w-full" disabled={fetching}>
            Send link
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
