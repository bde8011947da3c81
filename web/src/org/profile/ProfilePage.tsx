import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { useFresh } from "@/api/useFresh";
import { ChangePasswordDialog } from "@/auth/ChangePasswordDialog";
import { ROLE_LABELS } from "@/auth/roles";
import { SetWaitMailDocument, UpdateViewerDocument, WaitMailDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Problems } from "@/ui/Problems";
import { SaveForm } from "@/ui/SaveForm";
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
            <span className="min-w-0 text-ink-2">
              Changing your password signs you out everywhere else.
            </span>
            <Button onClick={() => setChangingPassword(true)}>Change password…</Button>
          </div>
          <WaitMail />
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

/** Whether this organization's waits are mailed. On a server that sends no such mail there is nothing to switch. */
function WaitMail() {
  const { data } = useFresh(WaitMailDocument, {});
  const set = useAction(SetWaitMailDocument);
  const [chosen, setChosen] = useState<boolean | null>(null);
  const known = data?.viewer.waitMail ?? null;
  if (known === null) return null;
  const change = async (next: boolean) => {
    setChosen(next);
    if (!(await set.run({ enabled: next }))) setChosen(chosen);
  };
  return (
    <div className="card space-y-2 p-4 text-sm">
      <label className="flex items-start gap-3">
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 accent-accent"
          checked={chosen ?? known}
          disabled={set.busy}
          onChange={(event) => void change(event.target.checked)}
        />
        <span className="min-w-0">
          <span className="block font-medium">Mail me what waits for me</span>
          <span className="block text-xs text-ink-3">
            Approvals, questions and paused sessions of this organization that have been waiting for
            some minutes.
          </span>
        </span>
      </label>
      <Problems of={set} />
    </div>
  );
}

function NameForm() {
  const { user } = useViewer();
  const [name, setName] = useState(user?.name ?? "");
  const update = useAction(UpdateViewerDocument);
  if (!user) return null;

  return (
    <SaveForm
      state={update}
      fields={["name"]}
      changed={name.trim() !== user.name}
      invalid={name.trim() === ""}
      onSubmit={async () => {
        const now = (await update.run({ name: name.trim() }))?.user;
        if (now) setName(now.name);
        return Boolean(now);
      }}
    >
      <TextField
        label="Name"
        hint="Visible to members of all your organizations."
        errors={fieldErrors(update.refusals, "name")}
        required
        autoComplete="name"
        value={name}
        onChange={setName}
      />
      <TextField
        label="Email"
        hint="Used to sign in. It can't be changed."
        readOnly
        value={user.email}
      />
    </SaveForm>
  );
}
