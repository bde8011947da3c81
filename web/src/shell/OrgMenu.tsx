import { Building2, Check, ChevronsUpDown } from "lucide-react";
import { ErrorNote } from "@/ui/ErrorNote";
import { Menu, MenuItem, MenuLabel } from "@/ui/Menu";
import { BrandMark } from "./Brand";
import { useSwitchOrg } from "./useSwitchOrg";
import { useViewer } from "./viewer";

/** Names the organization, and changes to another one where there are more. */
export function OrgMenu() {
  const { org, orgs } = useViewer();
  const { change, problem } = useSwitchOrg();
  const name = (
    <>
      <BrandMark />
      <span className="min-w-0 flex-1 truncate text-left text-sm font-semibold">{org.name}</span>
    </>
  );
  if (orgs.length < 2) return <div className="flex items-center gap-2.5 p-1.5">{name}</div>;
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
            {name}
            <ChevronsUpDown size={14} className="text-ink-3" />
          </button>
        }
      >
        <OrgMenuItems change={change} />
      </Menu>
      {problem && <ErrorNote>{problem}</ErrorNote>}
    </>
  );
}

export function OrgMenuItems({ change }: { change: (orgId: string) => void }) {
  const { org, orgs } = useViewer();
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
    </>
  );
}
