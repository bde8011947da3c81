import { useState } from "react";
import { useAction } from "@/api/useAction";
import { ROLE_LABELS, rolesUpTo } from "@/auth/roles";
import { InviteMemberDocument, type Role } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { CopyOnceDialog } from "@/ui/CopyOnceDialog";
import { SelectField, TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { formatDateTime } from "@/ui/format";
import { useFields } from "@/ui/useFields";
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
  const invite = useAction(InviteMemberDocument);
  const [draft, field] = useFields({ email: "", role: "MEMBER" as Role }, invite.refusals);
  const email = draft.email.trim();
  // The token is in one answer alone, and kept nowhere else than here.
  const [invited, setInvited] = useState<Invited | null>(null);

  const submit = async () => {
    const { token, invitation } = (await invite.run({ input: { email, role: draft.role } })) ?? {};
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
      <CopyOnceDialog
        title={`Invitation for ${invited.email}`}
        text={invited.link}
        label="Copy link"
        onClose={onClose}
      >
        Share this link with {invited.email}. It is shown only once, works once, and expires{" "}
        {formatDateTime(invited.expiresAt)}.
      </CopyOnceDialog>
    );
  }
  return (
    <FormDialog
      title="Invite a member"
      action={invite.busy ? "Inviting…" : "Create link"}
      state={invite}
      fields={["email", "role"]}
      disabled={email === ""}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Email"
        hint="No email is sent. You get a link to share."
        type="email"
        required
        {...field("email")}
      />
      <SelectField
        label="Role"
        hint={ROLE_ABOUT[draft.role]}
        {...field("role")}
        options={rolesUpTo(own).map((each) => [each, ROLE_LABELS[each]])}
      />
    </FormDialog>
  );
}
