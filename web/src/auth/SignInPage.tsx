import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useQuery } from "urql";
import { useAction } from "@/api/useAction";
import { SignInDocument, SignInMethodsDocument } from "@/gql/graphql";
import { Button, buttonClasses } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Problems } from "@/ui/Problems";
import { EmailField, EntryLink, PasswordField } from "./EntryFields";
import { EntryForm, EntryPage } from "./EntryPage";
import { announceIdentity } from "./identity";
import { CONFIRM, openIdRefusal, openIdStart } from "./openId";
import { forgetInvitation, keepInvitation, keptInvitation } from "./pendingInvitation";
import { safeReturnUrl } from "./returnUrl";

export function SignInPage() {
  const { next, ended, error: refused, invitation } = useSearch({ from: "/sign-in" });
  const [kept] = useState(() => (refused ? keptInvitation() : null));
  const back = kept ?? invitation;
  const [{ data: server }] = useQuery({ query: SignInMethodsDocument });
  const issuer = server?.serverInfo.oidcName;
  const refusal = openIdRefusal(refused, issuer ?? "OpenID Connect");
  const signIn = useAction(SignInDocument);
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [leaving, setLeaving] = useState(false);

  const submit = async () => {
    const answer = await signIn.run({ input: { email, password, transport: "COOKIE" } });
    if (!answer?.tokens) return;
    setLeaving(true);
    announceIdentity();
    // A full load, so that nothing of the person before stays in memory.
    location.assign(refused === CONFIRM ? openIdStart(next, kept) : safeReturnUrl(next));
  };

  return (
    <EntryPage title="Sign in to Ostler">
      <EntryForm onSubmit={submit}>
        {ended && signIn.refusals.length === 0 && (
          <p
            role="status"
            className="rounded-md border border-warn/25 bg-warn-soft px-3 py-2 text-sm text-warn"
          >
            You were signed out, or are no longer a member of the organization. Sign in again to
            continue.
          </p>
        )}
        {refusal && <ErrorNote>{refusal}</ErrorNote>}
        {refusal && back && (
          <Link
            to="/invite"
            search={{ token: back }}
            className={buttonClasses("secondary", "h-9 w-full")}
          >
            Back to the invitation
          </Link>
        )}
        {issuer && (
          <>
            <a
              href={openIdStart(next, invitation)}
              onClick={() => (invitation ? keepInvitation(invitation) : forgetInvitation())}
              className={buttonClasses("secondary", "h-9 w-full")}
            >
              Sign in with {issuer}
            </a>
            <p className="text-center text-ink-2 text-xs">or with a password</p>
          </>
        )}
        <Problems of={signIn} />
        <EmailField
          // Signing in is all that this page is for.
          autoFocus
          value={email}
          onChange={setEmail}
        />
        <PasswordField value={password} onChange={setPassword} />
        <Button
          look="primary"
          type="submit"
          className="h-9 w-full"
          disabled={signIn.busy || leaving}
        >
          {signIn.busy || leaving ? "Signing in…" : "Sign in"}
        </Button>
        <EntryLink to="/forgot">Forgot password?</EntryLink>
      </EntryForm>
    </EntryPage>
  );
}
