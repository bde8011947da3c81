import { useAction } from "@/api/useAction";
import { announceIdentity } from "@/auth/identity";
import { type MemberRowFragment, RemoveMemberDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { ConfirmDialog } from "@/ui/ConfirmDialog";

interface RemoveMemberProps {
  member: MemberRowFragment;
  /** It is the viewer, who leaves. */
  own: boolean;
  onRemoved: () => void;
  onClose: () => void;
}

export function RemoveMember({ member, own, onRemoved, onClose }: RemoveMemberProps) {
  const { org } = useViewer();
  const remove = useAction(RemoveMemberDocument);
  const run = async () => {
    if (!(await remove.run({ membershipId: member.id }))) return;
    if (!own) return onRemoved();
    // The sign-in is bound to the organization that is left, and gives no access to another one.
    announceIdentity();
    location.assign("/sign-in");
  };
  const { user } = member;
  return (
    <ConfirmDialog
      title={own ? `Leave ${org.name}` : `Remove ${user.name}`}
      action={own ? "Leave" : "Remove"}
      state={remove}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {own
        ? "You lose access immediately and sign in again to use another organization. You need a new invitation to return."
        : `${user.email} loses access to ${org.name} within seconds, in open pages too. What they made stays, and so do API keys that they created.`}
    </ConfirmDialog>
  );
}
