import { useNavigate } from "@tanstack/react-router";
import { Keyboard, KeyRound, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { type ComponentPropsWithRef, useContext, useState } from "react";
import { useMutation } from "urql";
import { ChangePasswordDialog } from "@/auth/ChangePasswordDialog";
import { announceIdentity } from "@/auth/identity";
import { SignOutDocument } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/ui/Menu";
import { OrgMenuItems, useNewOrg } from "./OrgMenu";
import { DOCS, PROFILE } from "./pages";
import { OpenShortcutsContext } from "./shortcuts";
import { setTheme, type ThemeChoice, useTheme } from "./theme";
import { useSwitchOrg } from "./useSwitchOrg";
import { useViewer } from "./viewer";

const THEMES: { choice: ThemeChoice; label: string; icon: typeof Sun }[] = [
  { choice: "system", label: "System", icon: Monitor },
  { choice: "light", label: "Light", icon: Sun },
  { choice: "dark", label: "Dark", icon: Moon },
];

/** The person, the theme, and the way out. On narrow screens it holds the organizations too. */
export function AccountMenu({ compact = false }: { compact?: boolean }) {
  const navigate = useNavigate();
  const theme = useTheme();
  const { change, problem } = useSwitchOrg();
  const newOrg = useNewOrg();
  const openShortcuts = useContext(OpenShortcutsContext);
  const [acknowledged, setAcknowledged] = useState<string | null>(null);
  const [, signOut] = useMutation(SignOutDocument);
  const [changingPassword, setChangingPassword] = useState(false);

  const leave = async () => {
    const { error } = await signOut({});
    // Without an answer the sign-in may still stand, and a page that claims otherwise would be a lie.
    if (error?.networkError) return;
    announceIdentity();
    location.assign("/sign-in");
  };

  return (
    <>
      <Menu
        align={compact ? "end" : "start"}
        side={compact ? "bottom" : "top"}
        trigger={<AccountButton compact={compact} />}
      >
        {compact && (
          <>
            <OrgMenuItems change={change} onNew={newOrg.open} />
            <MenuSeparator />
          </>
        )}
        <MenuLabel>Theme</MenuLabel>
        {THEMES.map(({ choice, label, icon: Icon }) => (
          <MenuItem
            key={choice}
            checked={theme === choice}
            icon={<Icon size={14} className={theme === choice ? "text-accent" : ""} />}
            onSelect={() => setTheme(choice)}
          >
            {label}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem
          icon={<PROFILE.icon size={14} />}
          onSelect={() => void navigate({ to: PROFILE.to })}
        >
          {PROFILE.label}
        </MenuItem>
        <MenuItem icon={<DOCS.icon size={14} />} onSelect={() => void navigate({ to: DOCS.to })}>
          {DOCS.label}
        </MenuItem>
        <MenuItem icon={<Keyboard size={14} />} onSelect={openShortcuts}>
          Keyboard shortcuts
        </MenuItem>
        <MenuItem icon={<KeyRound size={14} />} onSelect={() => setChangingPassword(true)}>
          Change password…
        </MenuItem>
        <MenuItem icon={<LogOut size={14} />} onSelect={() => void leave()}>
          Sign out
        </MenuItem>
      </Menu>
      {changingPassword && <ChangePasswordDialog onClose={() => setChangingPassword(false)} />}
      {newOrg.dialog}
      <Dialog
        open={problem !== null && problem !== acknowledged}
        onClose={() => setAcknowledged(problem)}
        title="Switch organization"
      >
        <div className="p-4">
          <ErrorNote>{problem}</ErrorNote>
        </div>
      </Dialog>
    </>
  );
}

interface AccountButtonProps extends ComponentPropsWithRef<"button"> {
  compact: boolean;
}

function AccountButton({ compact, ...rest }: AccountButtonProps) {
  const { user, role } = useViewer();
  const name = user?.name || user?.email || "Account";
  return (
    <button
      type="button"
      {...rest}
      className={classes(
        "flex items-center gap-2.5 rounded-md p-1.5 text-left hover:bg-hover",
        !compact && "w-full",
      )}
    >
      <span className="sr-only">Account of {compact && name}</span>
      <span
        aria-hidden
        className="flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-soft text-2xs font-semibold text-accent"
      >
        {name.slice(0, 1).toUpperCase()}
      </span>
      {!compact && (
        <span className="min-w-0 flex-1">
          <span className="block truncate text-sm leading-4 font-medium">{name}</span>
          <span className="block truncate text-2xs text-ink-3 capitalize">
            {role?.toLowerCase()}
          </span>
        </span>
      )}
    </button>
  );
}
