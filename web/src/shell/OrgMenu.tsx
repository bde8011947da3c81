import { Building2, Check, ChevronsUpDown, Plus } from "lucide-react";
import { Suspense, useState } from "react";
import { lazy } from "@/api/reachable";
import { ErrorNote } from "@/ui/ErrorNote";
import { Menu, MenuItem, MenuLabel } from "@/ui/Menu";
import { BrandMark } from "./Brand";
import { useSwitchOrg } from "./useSwitchOrg";
import { useViewer } from "./viewer";

const NewOrgDialog = lazy(() => import("./NewOrgDialog"));

/** Names the organization, changes to another one, and makes new ones. */
export function OrgMenu() {
  const { org } = useViewer();
  const { change, problem } = useSwitchOrg();
  const { dialog, open } = useNewOrg();
  return (
    <>
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            aria-label={`Organization ${org.name}, switch`}
            className="flex w-full items-center gap-2.5 rounded-md p-1.5 hover:bg-hover"
          >
            <BrandMark />
            <span className="min-w-0 flex-1 truncate text-left text-sm font-semibold">
              {org.name}
            </span>
            <ChevronsUpDown size={14} className="text-ink-3" />
          </button>
        }
      >
        <OrgMenuItems change={change} onNew={open} />
      </Menu>
      {problem && <ErrorNote>{problem}</ErrorNote>}
      {dialog}
    </>
  );
}

/** The dialog for a new organization, to be placed outside of the menu that opens it. */
export function useNewOrg() {
  const [open, setOpen] = useState(false);
  return {
    dialog: open && (
      <Suspense>
        <NewOrgDialog onClose={() => setOpen(false)} />
      </Suspense>
    ),
    open: () => setOpen(true),
  };
}

interface OrgMenuItemsProps {
  change: (orgId: string) => void;
  onNew: () => void;
}

export function OrgMenuItems({ change, onNew }: OrgMenuItemsProps) {
  const { org, orgs, canCreateOrg } = useViewer();
  return (
    <>
      <MenuLabel>Organizations</MenuLabel>
      {orgs.map((each) => (
        <MenuItem
          key={each.id}
          checked={each.id === org.id}
          icon={each.id === org.id ? <Check size={14} /> : <Building2 size={14} />}
          onSelect={() => each.id !== org.id && change(each.id)}
        >
          {each.name}
        </MenuItem>
      ))}
      {canCreateOrg && (
        <MenuItem icon={<Plus size={14} />} onSelect={onNew}>
          New organization…
        </MenuItem>
      )}
    </>
  );
}
