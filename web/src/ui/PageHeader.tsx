import type { ReactNode } from "react";
import { useSubject } from "./title";

interface PageHeaderProps {
  title: ReactNode;
  /** What the page is about, for the title of the window, where `title` is more than a text. */
  subject?: string;
  children?: ReactNode;
}

/** The bar at the top of a page: its name at the left, its actions at the right. */
export function PageHeader({ title, subject, children }: PageHeaderProps) {
  useSubject(subject ?? (typeof title === "string" ? title : null));
  return (
    <header className="flex min-h-13 shrink-0 flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-2 sm:px-6">
      <h1 className="min-w-0 text-base font-semibold">{title}</h1>
      <div className="flex flex-wrap items-center gap-2">{children}</div>
    </header>
  );
}

interface TrailProps {
  /** The link to the list that it is in, and to what else stands above it. */
  list: ReactNode;
  name: ReactNode;
  /** Badges behind the name. */
  children?: ReactNode;
}

/** The title of a page about one thing of a list. */
export function Trail({ list, name, children }: TrailProps) {
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-2 [&>a]:truncate [&>a]:font-normal [&>a]:text-ink-3 [&>a]:hover:text-ink">
      {list}
      <Slash />
      <span className="truncate">{name}</span>
      {children}
    </span>
  );
}

export function Slash() {
  return (
    <span className="text-ink-3" aria-hidden>
      /
    </span>
  );
}
