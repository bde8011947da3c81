import { Link } from "@tanstack/react-router";
import { type ReactNode, useId } from "react";

interface SectionProps {
  title: string;
  count?: number;
  aside?: ReactNode;
  children: ReactNode;
}

export function Section({ title, count, aside, children }: SectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="card min-w-0 overflow-hidden">
      <div className="flex items-center justify-between gap-2 border-b border-line px-3.5 py-2">
        <h2 id={id} className="text-sm font-medium">
          {title}
          {count !== undefined && count > 0 && (
            <span className="ml-1.5 text-xs font-normal text-ink-3 tabular-nums">{count}</span>
          )}
        </h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

export function Nothing({ children }: { children: ReactNode }) {
  return <p className="px-3.5 py-4 text-sm text-ink-3">{children}</p>;
}

/** A row that leads to a session. */
export function SessionRow({ id, children }: { id: string; children: ReactNode }) {
  return (
    <li>
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: id }}
        className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 px-3.5 py-2 text-sm transition-colors hover:bg-hover focus-visible:-outline-offset-2"
      >
        {children}
      </Link>
    </li>
  );
}
