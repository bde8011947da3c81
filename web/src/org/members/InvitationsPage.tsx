import { useNavigate, useSearch } from "@tanstack/react-router";
import { Mail, UserPlus } from "lucide-react";
import { useState } from "react";
import { useAction } from "@/api/useAction";
import { usePages } from "@/api/usePages";
import { isAtLeast, ROLE_LABELS } from "@/auth/roles";
import {
  type InvitationRowFragment,
  InvitationsDocument,
  RevokeInvitationDocument,
} from "@/gql/graphql";
import { useMay, useViewer } from "@/shell/viewer";
import { Badge, type Tone } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { EmptyState } from "@/ui/EmptyState";
import { formatDateTime } from "@/ui/format";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { RelativeTime } from "@/ui/Time";
import { OrgPage } from "../OrgPage";
import { InviteDialog } from "./InviteDialog";
import { type InvitationState, invitationState } from "./memberRules";

export function InvitationsPage() {
  const { invite } = useSearch({ from: "/app/organization/invitations" });
  const navigate = useNavigate({ from: "/organization/invitations" });
  const mayManage = useMay("MEMBERS_MANAGE");
  const [revoked, setRevoked] = useState<InvitationRowFragment | null>(null);
  const invitations = usePages(InvitationsDocument, { first: 50 }, (data) => data.invitations);
  const { nodes } = invitations;
  const open = () => void navigate({ search: { invite: true } });

  return (
    <OrgPage
      title="Invitations"
      about="A link for one person. It works once and expires after 7 days."
      actions={
        mayManage && (
          <Button look="primary" onClick={open}>
            <UserPlus size={15} aria-hidden />
            Invite a member
          </Button>
        )
      }
    >
      <ListBody list={invitations} empty={<NoInvitations onInvite={mayManage ? open : null} />}>
        <ul aria-label="Invitations" className="border-t border-line">
          {nodes.map((each) => (
            <InvitationListRow key={each.id} invitation={each} onRevoke={() => setRevoked(each)} />
          ))}
        </ul>
      </ListBody>
      {invite && mayManage && (
        <InviteDialog
          onInvited={invitations.reload}
          onClose={() => void navigate({ search: {}, replace: true })}
        />
      )}
      {revoked && <RevokeInvitation invitation={revoked} onClose={() => setRevoked(null)} />}
    </OrgPage>
  );
}

const TONES: Record<InvitationState, Tone> = {
  pending: "accent",
  accepted: "ok",
  revoked: "neutral",
  expired: "warn",
};

interface InvitationListRowProps {
  invitation: InvitationRowFragment;
  onRevoke: () => void;
}

function InvitationListRow({ invitation, onRevoke }: InvitationListRowProps) {
  const { role: ownRole } = useViewer();
  const mayManage = useMay("MEMBERS_MANAGE");
  const { email, role, createdAt, expiresAt, acceptedAt } = invitation;
  const state = invitationState(invitation, Date.now());
  return (
    <li
      data-invitation={email}
      className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-2.5 text-sm sm:px-6"
    >
      <div className="min-w-40 flex-1">
        <div className="flex min-w-0 items-center gap-2">
          <span className="truncate font-medium">{email}</span>
          <Badge tone={TONES[state]}>{state}</Badge>
        </div>
        <p className="text-xs text-ink-3">
          as {ROLE_LABELS[role].toLowerCase()} · invited <RelativeTime time={createdAt} />
          {state === "pending" && ` · expires ${formatDateTime(expiresAt)}`}
          {acceptedAt !== null && (
            <>
              {" "}
              · accepted <RelativeTime time={acceptedAt} />
            </>
          )}
        </p>
      </div>
      {state === "pending" && mayManage && isAtLeast(ownRole, role) && (
        <Button look="ghost" onClick={onRevoke} aria-label={`Revoke the invitation for ${email}`}>
          Revoke
        </Button>
      )}
    </li>
  );
}

interface RevokeInvitationProps {
  invitation: InvitationRowFragment;
  onClose: () => void;
}

function RevokeInvitation({ invitation, onClose }: RevokeInvitationProps) {
  const revoke = useAction(RevokeInvitationDocument);
  return (
    <ConfirmDialog
      title="Revoke invitation"
      action="Revoke"
      state={revoke}
      onConfirm={() => revoke.run({ id: invitation.id })}
      onClose={onClose}
    >
      The link for {invitation.email} stops working. You can invite them again.
    </ConfirmDialog>
  );
}

function NoInvitations({ onInvite }: { onInvite: (() => void) | null }) {
  if (!onInvite) {
    return (
      <EmptyState icon={<Mail size={20} />} title="No invitations yet">
        Owners and admins can invite people.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<Mail size={20} />}
      title="No invitations yet"
      action={
        <Button look="primary" onClick={onInvite}>
          Invite a member
        </Button>
      }
      request={curlRequest(
        "mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { token userErrors { path message } } }",
        { input: { email: "ada@example.com", role: "MEMBER" } },
      )}
    >
      Create a link and share it. Whoever opens it joins as a member.
    </EmptyState>
  );
}
