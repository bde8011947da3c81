import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import type { ViewerQuery } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";
import { Problems } from "@/ui/Problems";
import { EmailField, EntryLink, PasswordField } from "./EntryFields";
import { EntryForm } from "./EntryPage";
import type { Acceptance } from "./useAcceptance";

interface FormProps {
  acceptance: Acceptance;
}

function Submit({ busy, children }: { busy: boolean; children: string }) {
  return (
    <Button look="primary" type="submit" className="h-9 w-full" disabled={busy}>
      {busy ? "Joining…" : children}
    </Button>
  );
}

interface AcceptAsViewerProps extends FormProps {
  viewer: ViewerQuery["viewer"];
  onAnother: () => void;
}

export function AcceptAsViewer({ viewer, acceptance, onAnother }: AcceptAsViewerProps) {
  const member = acceptance.refusals.some(({ code }) => code === "TAKEN");
  // Either another person with an account was invited, or one who has none yet and is asked for a name.
  const stranger = acceptance.refusals.some(
    ({ code, path }) => code === "FORBIDDEN" || path.includes("name"),
  );
  return (
    <EntryForm onSubmit={acceptance.asViewer}>
      {stranger ? (
        <ErrorNote>
          This invitation is not for {viewer.user?.email}. Sign in with the invited email to accept
          it.
        </ErrorNote>
      ) : (
        <Problems of={acceptance} />
      )}
      <p className="text-sm text-ink-2">
        You are signed in as <span className="font-medium text-ink">{viewer.user?.email}</span>. You
        stay a member of {viewer.org.name}, and can switch between your organizations at any time.
      </p>
      {member ? (
        <a href="/" className="block text-center text-sm underline underline-offset-2">
          Go to your organizations
        </a>
      ) : (
        !stranger && <Submit busy={acceptance.busy}>Accept invitation</Submit>
      )}
      <Button look="ghost" className="w-full" onClick={onAnother}>
        Use another account
      </Button>
    </EntryForm>
  );
}

interface AcceptAsNewcomerProps extends FormProps {
  /** The invited person has an account. */
  onKnown: () => void;
}

export function AcceptAsNewcomer({ acceptance, onKnown }: AcceptAsNewcomerProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const known = acceptance.refusals.some(({ code }) => code === "FORBIDDEN");
  return (
    <EntryForm onSubmit={() => acceptance.asNewcomer(name.trim(), password)}>
      {known ? (
        <ErrorNote>
          This email already has an account.{" "}
          <button type="button" className="rounded font-medium underline" onClick={onKnown}>
            Use it
          </button>
        </ErrorNote>
      ) : (
        <Problems of={acceptance} fields={["name", "password"]} />
      )}
      <TextField
        label="Your name"
        errors={fieldErrors(acceptance.refusals, "name")}
        required
        autoComplete="name"
        value={name}
        onChange={setName}
      />
      <PasswordField
        hint="You sign in with this password and the invited email."
        errors={fieldErrors(acceptance.refusals, "password")}
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
      />
      <Submit busy={acceptance.busy}>Create account and join</Submit>
    </EntryForm>
  );
}

export function AcceptAsMember({ acceptance }: FormProps) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  return (
    <EntryForm onSubmit={() => acceptance.asMember(email, password)}>
      <Problems of={acceptance} />
      <EmailField hint="The email that was invited." value={email} onChange={setEmail} />
      <PasswordField value={password} onChange={setPassword} />
      <Submit busy={acceptance.busy}>Sign in and join</Submit>
      <EntryLink to="/forgot">Forgot password?</EntryLink>
    </EntryForm>
  );
}
