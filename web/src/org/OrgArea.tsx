import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useViewer } from "@/shell/viewer";
import { offeredTabs } from "./tabs";

/** The organization and one's own place in it: a page for each subject, below one bar. */
export function OrgArea() {
  const { org, permissions } = useViewer();
  const { pathname } = useLocation();
  const bar = useRef<HTMLElement>(null);
  // On a narrow screen the current one may be out of sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: this is about what a new address does.
  useEffect(() => {
    const show = () =>
      bar.current
        ?.querySelector("[aria-current=page]")
        ?.scrollIntoView({ block: "nearest", inline: "nearest" });
    show();
    window.addEventListener("resize", show);
    return () => window.removeEventListener("resize", show);
  }, [pathname]);
  return (
    <>
      <header className="shrink-0 border-b border-line px-4 pt-2.5 sm:px-6">
        <h1 className="flex min-h-8 items-center truncate text-base font-semibold">{org.name}</h1>
        <nav
          ref={bar}
          aria-label="Organization"
          data-moves-sideways
          className="mt-1 -mr-4 -ml-2.5 flex sm:mr-0 overflow-x-auto overflow-y-hidden"
        >
          {offeredTabs(permissions).map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: true, includeSearch: false }}
              className="-mb-px border-b-2 border-transparent px-2.5 py-2 text-sm whitespace-nowrap text-ink-2 hover:text-ink focus-visible:-outline-offset-2 aria-[current=page]:border-ink aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {label}
            </Link>
          ))}
        </nav>
      </header>
      <Outlet />
    </>
  );
}
