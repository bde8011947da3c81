import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { ChangePasswordDialog } from "@/auth/ChangePasswordDialog";
import { ROLE_LABELS } from "@/auth/roles";
import { UpdateViewerDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { Field, TextField } from "@/ui/Field";
import { OrgPage } from "../OrgPage";
import { SignInList } from "./SignInList";

export function ProfilePage() {
  const { org, role } = useViewer();
  const [changingPassword, setChangingPassword] = useState(false);
  // A change of the password ends other sign-ins: the list is read anew when the dialog closes.
  const [version, setVersion] = useState(0);
  return (
    <OrgPage title="Your profile">
      <div className="mx-auto grid max-w-5xl items-start gap-x-10 gap-y-8 p-4 sm:p-6 lg:grid-cols-2">
        <section aria-labelledby="profile-person" className="min-w-0 space-y-3">
          <h2 id="profile-person" className="text-sm font-semibold">
            Your profile
          </h2>
          <NameForm />
          <div className="card flex flex-wrap items-center justify-between gap-3 p-4 text-sm">
            <span className="min-w-0 text-ink-2">Changing it signs you out everywhere else.</span>
            <Button onClick={() => setChangingPassword(true)}>Change password…</Button>
          </div>
          {role && (
            <p className="text-xs text-ink-3">
              Your role in {org.name}: {ROLE_LABELS[role].toLowerCase()}.
            </p>
          )}
        </section>
        <SignInList version={version} />
      </div>
      {changingPassword && (
        <ChangePasswordDialog
          onClose={() => {
            setChangingPassword(false);
            setVersion(version + 1);
          }}
        />
      )}
    </OrgPage>
  );
}

function NameForm() {
  const { user } = useViewer();
  const [name, setName] = useState(user?.name ?? "");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [saved, setSaved] = useState(false);
  const [{ fetching, error }, update] = useMutation(UpdateViewerDocument);
  if (!user) return null;
  const unchanged = name.trim() === user.name;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { data } = await update({ name: name.trim() });
    setRefusals(data?.updateViewer.userErrors ?? []);
    const now = data?.updateViewer.user;
    if (!now) return;
    setName(now.name);
    setSaved(true);
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="card space-y-5 p-4">
      <RequestError error={error} />
      {otherErrors(refusals, ["name"]).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
      <TextField
        label="Name"
        hint="Visible to members of all your organizations."
        errors={fieldErrors(refusals, "name")}
        required
        autoComplete="name"
        value={name}
        onChange={(next) => {
          setName(next);
          setSaved(false);
        }}
      />
      <Field label="Email" hint="Used to sign in. It can't be changed.">
        {(control) => (
          <input
            {...control}
            readOnly
            className="control read-only:bg-sunken read-only:text-ink-2"
            value={user.email}
          />
        )}
      </Field>
      <div className="flex items-center justify-end gap-3">
        {saved && unchanged && (
          <span role="status" className="text-sm text-ok">
            Saved
          </span>
        )}
        <Button look="primary" type="submit" disabled={fetching || unchanged || name.trim() === ""}>
          {fetching ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}
