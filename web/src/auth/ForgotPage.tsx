import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { RequestPasswordResetDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import { EmailField, EntryLink } from "./EntryFields";
import { EntryForm, EntryPage } from "./EntryPage";

export function ForgotPage() {
  const request = useAction(RequestPasswordResetDocument);
  const [email, setEmail] = useState("");
  const [asked, setAsked] = useState(false);

  const submit = async () => setAsked((await request.run({ email }))?.ok ?? false);

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
          <Problems of={request} fields={["email"]} />
          <EmailField
            errors={fieldErrors(request.refusals, "email")}
            value={email}
            onChange={setEmail}
          />
          <Button look="primary" type="submit" className="h-9 w-full" disabled={request.busy}>
            Send link
          </Button>
          <EntryLink to="/sign-in">Back to sign-in</EntryLink>
        </EntryForm>
      )}
    </EntryPage>
  );
}
