import { Link } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { usePages } from "@/api/usePages";
import { type MemberRowFragment, MembersDocument } from "@/gql/graphql";
import { useMay, useViewer } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { ListBody } from "@/ui/ListBody";
import { OrgPage } from "../OrgPage";
import { MemberListRow } from "./MemberListRow";
import { memberRights } from "./memberRules";
import { RemoveMember } from "./RemoveMember";

export function MembersPage() {
  const viewer = useViewer();
  const mayManage = useMay("MEMBERS_MANAGE");
  const [leaving, setLeaving] = useState<MemberRowFragment | null>(null);
  const members = usePages(MembersDocument, { first: 100 }, (data) => data.org.members);
  const complete = !members.hasMore && !members.loading;

  return (
    <OrgPage
      title="Members"
      about="Members of the organization and their roles."
      actions={
        mayManage && (
          <Link
            to="/organization/invitations"
            search={{ invite: true }}
            className={buttonClasses("primary")}
          >
            <UserPlus size={15} aria-hidden />
            Invite a member
          </Link>
        )
      }
    >
      <ListBody list={members} empty={null}>
        <ul aria-label="Members" className="border-t border-line">
          {members.nodes.map((member) => (
            <MemberListRow
              key={member.id}
              member={member}
              own={member.user.id === viewer.user?.id}
              rights={memberRights(member, members.nodes, complete, {
                role: viewer.role,
                mayManage,
              })}
              onRemove={() => setLeaving(member)}
            />
          ))}
        </ul>
      </ListBody>
      {!mayManage && !members.loading && (
        <p className="px-4 py-3 text-xs text-ink-3 sm:px-6">
          Owners and admins manage members. To leave, ask one of them.
        </p>
      )}
      {leaving && (
        <RemoveMember
          member={leaving}
          own={leaving.user.id === viewer.user?.id}
          onRemoved={() => {
            setLeaving(null);
            members.reload();
          }}
          onClose={() => setLeaving(null)}
        />
      )}
    </OrgPage>
  );
}
