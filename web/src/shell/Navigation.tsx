import { Link, useLocation } from "@tanstack/react-router";
import { Menu, Search } from "lucide-react";
import { useState } from "react";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Dialog } from "@/ui/Dialog";
import { AccountMenu } from "./AccountMenu";
import { commandKey } from "./commandKey";
import { OrgMenu } from "./OrgMenu";
import { DOCS, pageAt } from "./pages";
import { useOfferedPages } from "./useOfferedPages";
import { useViewer } from "./viewer";
import { WaitCount } from "./WaitCount";
import { useWaits } from "./waits";

interface NavigationProps {
  onSearch: () => void;
}

export function Sidebar({ onSearch }: NavigationProps) {
  return (
    <div className="hidden w-58 shrink-0 flex-col border-r border-line bg-sunken p-2.5 md:flex">
      <OrgMenu />
      <button
        type="button"
        onClick={onSearch}
        className="mt-2.5 flex shrink-0 items-center gap-2 rounded-md border border-line bg-surface px-2 py-1.5 text-sm text-ink-3 shadow-card hover:border-line-strong"
      >
        <Search size={14} aria-hidden />
        <span className="flex-1 text-left">Go to…</span>
        <kbd className="kbd">{commandKey()} K</kbd>
      </button>
      {/* A phone held sideways is wide enough for all this, and not high enough. */}
      <nav aria-label="Main" className="-mx-1 mt-2 min-h-0 overflow-y-auto p-1">
        <PageLinks />
      </nav>
      <div className="mt-auto shrink-0 pt-2">
        <AccountMenu />
      </div>
    </div>
  );
}

/** What the sidebar becomes on a narrow screen: where one is, and a menu of all pages. */
export function TopBar({ onSearch }: NavigationProps) {
  const { org } = useViewer();
  const pages = useOfferedPages();
  const here = pageAt([...pages, DOCS], useLocation().pathname);
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <div className="flex h-12 shrink-0 items-center gap-1 border-b border-line bg-sunken px-2 md:hidden">
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
        className="flex h-10 min-w-0 items-center gap-2.5 rounded-md px-2 text-sm font-medium hover:bg-hover"
      >
        <Menu size={18} className="shrink-0 text-ink-2" aria-hidden />
        <span className="sr-only">Menu:</span>
        <span className="truncate">{here?.label ?? "All pages"}</span>
      </button>
      {pages.some(({ to }) => to === "/approvals") && <WaitLink />}
      <div className="ml-auto flex shrink-0 items-center gap-1">
        <IconButton label="Go to…" className="size-10" onClick={onSearch}>
          <Search size={17} />
        </IconButton>
        <AccountMenu compact />
      </div>
      <Dialog open={open} onClose={close} title={org.name} shape="drawer">
        <nav aria-label="Main" className="p-2">
          <PageLinks roomy onFollow={close} />
        </nav>
      </Dialog>
    </div>
  );
}

/** What waits is worth a glance without opening the menu. */
function WaitLink() {
  const { count } = useWaits();
  if (count === null || count === 0) return null;
  return (
    <Link
      to="/approvals"
      title="Approvals"
      className="flex h-10 shrink-0 items-center rounded-md px-2 hover:bg-hover"
    >
      <span className="sr-only">Approvals:</span>
      <WaitCount />
    </Link>
  );
}

interface PageLinksProps {
  /** For fingers. */
  roomy?: boolean;
  onFollow?: () => void;
}

function PageLinks({ roomy = false, onFollow }: PageLinksProps) {
  const pages = useOfferedPages();
  return (
    <div className="flex flex-col gap-0.5">
      {pages.map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          {...(onFollow && { onClick: onFollow })}
          // Every address begins with that of the home page.
          activeOptions={{ exact: to === "/" }}
          className={classes(
            "flex items-center gap-2.5 rounded-md px-2 text-sm transition-colors",
            roomy ? "py-2.5" : "py-1.5",
          )}
          activeProps={{ className: "bg-line font-medium text-ink" }}
          inactiveProps={{ className: "text-ink-2 hover:bg-hover hover:text-ink" }}
        >
          <Icon size={16} aria-hidden />
          {label}
          {to === "/approvals" && <WaitCount className="ml-auto" />}
        </Link>
      ))}
    </div>
  );
}
