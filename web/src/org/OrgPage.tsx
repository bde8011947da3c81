import type { ReactNode } from "react";
import { useSubject } from "@/ui/title";

interface OrgPageProps {
  /** What the page is about, for those who go from heading to heading. */
  title: string;
  /** One sentence that says what this is for. */
  about?: string;
  actions?: ReactNode;
  /** Above what scrolls, such as filters. */
  bar?: ReactNode;
  children: ReactNode;
}

/** One page of the organization area. */
export function OrgPage({ title, about, actions, bar, children }: OrgPageProps) {
  useSubject(title);
  return (
    <>
      {(about !== undefined || actions) && (
        <div className="flex shrink-0 flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-4 pb-3 sm:px-6">
          <div className="min-w-0">
            <h2 className="text-sm font-semibold">{title}</h2>
            {about !== undefined && <p className="text-sm text-ink-2">{about}</p>}
          </div>
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </div>
      )}
      {bar}
      <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
    </>
  );
}
