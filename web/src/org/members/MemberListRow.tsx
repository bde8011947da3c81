import { LogOut, UserMinus } from "lucide-react";
import { doubtViewer } from "@/api/doubt";
import { useAction } from "@/api/useAction";
import { ROLE_LABELS } from "@/auth/roles";
import { type MemberRowFragment, type Role, SetMemberRoleDocument } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { IconButton } from "@/ui/Button";
import { Select } from "@/ui/Field";
import { Problems } from "@/ui/Problems";
import { RelativeTime } from "@/ui/Time";
import { useToast } from "@/ui/Toasts";
import type { MemberRights } from "./memberRules";

interface MemberListRowProps {
  member: MemberRowFragment;
  /** It is the viewer. */
  own: boolean;
  rights: MemberRights;
  onRemove: () => void;
}

export function MemberListRow({ member, own, rights, onRemove }: MemberListRowProps) {
  const { user, role } = member;
  const change = useAction(SetMemberRoleDocument);
  const toast = useToast();
  const set = async (next: Role) => {
    const done = await change.run({ membershipId: member.id, role: next });
    if (done) toast("Role changed");
    // Whoever changes their own role is somebody else from now on.
    if (done && own) doubtViewer();
  };
  const remove = own ? "Leave organization" : `Remove ${user.name}`;
  return (
    <li data-member={user.email} className="border-b border-line px-4 py-2.5 sm:px-6">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-40 flex-1">
          <div className="flex min-w-0 items-center gap-2 text-sm">
            <span className="truncate font-medium">{user.name}</span>
            {own && <Badge tone="accent">you</Badge>}
          </div>
          <p className="truncate text-xs text-ink-3">
            {user.email} · <RelativeTime time={member.createdAt} />
          </p>
        </div>
        {rights.roles.length > 0 ? (
          <Select
            aria-label={`Role of ${user.name}`}
            className="w-32"
            disabled={change.busy}
            value={role}
            options={rights.roles.map((each) => [each, ROLE_LABELS[each]])}
            onChange={(next) => void set(next)}
          />
        ) : (
          <span className="text-sm text-ink-2">{ROLE_LABELS[role]}</span>
        )}
        {rights.removable && (
          <IconButton label={remove} onClick={onRemove}>
            {own ? <LogOut size={15} /> : <UserMinus size={15} />}
          </IconButton>
        )}
      </div>
      {rights.reason && <p className="mt-1 text-xs text-ink-3">{rights.reason}</p>}
      {(change.failure || change.refusals.length > 0) && (
        <div className="mt-2">
          <Problems of={change} />
        </div>
      )}
    </li>
  );
}
