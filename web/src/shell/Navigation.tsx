import { Link, useLocation } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useRef } from "react";
import { IconButton } from "@/ui/Button";
import { AccountMenu } from "./AccountMenu";
import { BrandMark } from "./Brand";
import { commandKey } from "./commandKey";
import { OrgMenu } from "./OrgMenu";
import { offeredPages } from "./pages";
import { useViewer } from "./viewer";
import { WaitCount } from "./WaitCount";

interface NavigationProps {
  onSearch: () => void;
}

export function Sidebar({ onSearch }: NavigationProps) {
  const pages = offeredPages(useViewer().permissions);
  return (
    <div className="hidden w-58 shrink-0 flex-col border-r border-line bg-sunken p-2.5 md:flex">
      <OrgMenu />
      <button
        type="button"
        onClick={onSearch}
        className="mt-2.5 flex items-center gap-2 rounded-md border border-line bg-surface px-2 py-1.5 text-sm text-ink-3 shadow-card hover:border-line-strong"
      >
        <Search size={14} aria-hidden />
        <span className="flex-1 text-left">Go to…</span>
        <kbd className="kbd">{commandKey()} K</kbd>
      </button>
      <nav aria-label="Main" className="mt-3 flex flex-col gap-0.5">
        {pages.map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            // Every address begins with that of the home page.
            activeOptions={{ exact: to === "/" }}
            className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm transition-colors"
            activeProps={{ className: "bg-line font-medium text-ink" }}
            inactiveProps={{ className: "text-ink-2 hover:bg-hover hover:text-ink" }}
          >
            <Icon size={16} aria-hidden />
            {label}
            {to === "/approvals" && <WaitCount className="ml-auto" />}
          </Link>
        ))}
      </nav>
      <div className="mt-auto">
        <AccountMenu />
      </div>
    </div>
  );
}

/** What the sidebar becomes on a narrow screen. */
export function TopBar({ onSearch }: NavigationProps) {
  const pages = offeredPages(useViewer().permissions);
  const { pathname } = useLocation();
  const bar = useRef<HTMLElement>(null);
  // There are more of them than a phone is wide.
  // biome-ignore lint/correctness/useExhaustiveDependencies: this is about what a new address does.
  useEffect(() => {
    bar.current
      ?.querySelector("[aria-current=page]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [pathname]);
  return (
    <div className="flex h-12 shrink-0 items-center gap-1 border-b border-line bg-sunken px-3 md:hidden">
      <BrandMark />
      <nav ref={bar} aria-label="Main" className="ml-1 flex min-w-0 gap-0.5 overflow-x-auto">
        {pages.map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            // Every address begins with that of the home page.
            activeOptions={{ exact: to === "/" }}
            title={label}
            className="flex items-center gap-1.5 rounded-md px-2 py-1.5 text-sm"
            activeProps={{ className: "bg-line font-medium text-ink" }}
            inactiveProps={{ className: "text-ink-2" }}
          >
            {({ isActive }) => (
              <>
                <Icon size={17} aria-hidden />
                {/* All of them with their names would not fit, and on a phone not even one. */}
                <span className={isActive ? "max-sm:sr-only" : "sr-only"}>{label}</span>
                {to === "/approvals" && <WaitCount />}
              </>
            )}
          </Link>
        ))}
      </nav>
      <div className="ml-auto flex shrink-0 items-center">
        <IconButton label="Go to…" onClick={onSearch}>
          <Search size={17} />
        </IconButton>
        <AccountMenu compact />
      </div>
    </div>
  );
}
