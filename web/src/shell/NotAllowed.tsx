import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import { doubtViewer } from "@/api/doubt";
import { PERMISSION_WORDS } from "@/auth/permissions";
import type { Permission } from "@/gql/graphql";
import { Button, buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { useViewer } from "./viewer";

/** A page that the viewer lacks the permission for. */
export function NotAllowed({ needs }: { needs: Permission }) {
  const { role, org } = useViewer();
  const who = needs === "ORG_MANAGE" ? "an owner" : "an owner or an admin";
  return (
    <EmptyState
      icon={<Lock size={20} />}
      title="You don't have access"
      action={
        <div className="flex flex-wrap justify-center gap-2">
          <Link to="/" className={buttonClasses("primary")}>
            Go home
          </Link>
          <Button onClick={doubtViewer}>Check again</Button>
        </div>
      }
    >
      {role ? `Your role (${role.toLowerCase()})` : "Your role"} in {org.name} can't{" "}
      {PERMISSION_WORDS[needs]}. Ask {who} for access.
    </EmptyState>
  );
}
