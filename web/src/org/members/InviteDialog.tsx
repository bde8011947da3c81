import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, type UserError } from "@/api/errors";
import { ROLE_LABELS, rolesUpTo } from "@/auth/roles";
import { InviteMemberDocument, type Role } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { CopyBlock } from "@/ui/CopyBlock";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { formatDateTime } from "@/ui/format";
import { invitationLink } from "./memberRules";

const ROLE_ABOUT: Record<Role, string> = {
  OWNER: "Everything, the settings of the organization included.",
  ADMIN: "Everything but the settings of the organization: members, keys, providers, audit log.",
  MEMBER: "Agents, harnesses, sessions and approvals.",
  VIEWER: "Reads agents, sessions and what they cost, and changes nothing.",
};

interface InviteDialogProps {
  onInvited: () => void;
  onClose: () => void;
}

interface Invited {
  email: string;
  link: string;
  expiresAt: string;
}

export function InviteDialog({ onInvited, onClose }: InviteDialogProps) {
  const { role: own } = useViewer();
  const [{ fetching, error }, invite] = useMutation(InviteMemberDocument);
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("MEMBER");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  // The token is in one answer alone, and kept nowhere else than here.
  const [invited, setInvited] = useState<Invited | null>(null);

  const submit = async () => {
    const { data } = await invite({ input: { email: email.trim(), role } });
    setRefusals(data?.inviteMember.userErrors ?? []);
    const { token, invitation } = data?.inviteMember ?? {};
    if (!token || !invitation) return;
    setInvited({
      email: invitation.email,
      link: invitationLink(location.origin, token),
      expiresAt: invitation.expiresAt,
    });
    onInvited();
  };

  if (invited) {
    return (
      <Dialog open sticky onClose={onClose} title={`${invited.email} is invited`}>
        <div className="space-y-4 p-4 text-sm">
          <p role="status">
            Pass this link on to {invited.email}. It is shown here and never again, works once, and
            until {formatDateTime(invited.expiresAt)}.
          </p>
          <CopyBlock wrap text={invited.link} label="Copy link" />
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="Invite a member"
      action={fetching ? "Inviting…" : "Create link"}
      failure={error ? describeError(error) : null}
      refusals={refusals}
      fields={["email", "role"]}
      disabled={fetching || email.trim() === ""}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <Field
        label="E-mail"
        hint="Nothing is sent: you get a link to pass on."
        errors={fieldErrors(refusals, "email")}
      >
        {(control) => (
          <input
            {...control}
            type="email"
            required
            autoComplete="off"
            className="control"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        )}
      </Field>
      <Field label="Role" hint={ROLE_ABOUT[role]} errors={fieldErrors(refusals, "role")}>
        {(control) => (
          <select
            {...control}
            className="control"
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
          >
            {rolesUpTo(own).map((each) => (
              <option key={each} value={each}>
                {ROLE_LABELS[each]}
              </option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  );
}
