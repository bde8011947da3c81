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
