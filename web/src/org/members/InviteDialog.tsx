import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, type UserError } from "@/api/errors";
import { ROLE_LABELS, rolesUpTo } from "@/auth/roles";
import { InviteMemberDocument, type Role } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { CopyBlock } from "@/ui/CopyBlock";
import { Dialog } from "@/ui/Dialog";
import { SelectField, TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { formatDateTime } from "@/ui/format";
import { invitationLink } from "./memberRules";

const ROLE_ABOUT: Record<Role, string> = {
  OWNER: "Full access, including organization settings.",
  ADMIN: "Everything except organization settings: members, keys, providers, audit log.",
  MEMBER: "Works with agents, harnesses, sessions and approvals.",
  VIEWER: "Read-only access to agents, sessions and costs.",
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
      <Dialog open sticky onClose={onClose} title={`Invitation for ${invited.email}`}>
        <div className="space-y-4 p-4 text-sm">
          <p role="status">
            Share this link with {invited.email}. It is shown only once, works once, and expires{" "}
            {formatDateTime(invited.expiresAt)}.
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
      <TextField
        label="Email"
        hint="No email is sent. You get a link to share."
        errors={fieldErrors(refusals, "email")}
        type="email"
        required
        value={email}
        onChange={setEmail}
      />
      <SelectField
        label="Role"
        hint={ROLE_ABOUT[role]}
        errors={fieldErrors(refusals, "role")}
        value={role}
        options={rolesUpTo(own).map((each) => [each, ROLE_LABELS[each]])}
        onChange={setRole}
      />
    </FormDialog>
  );
}
