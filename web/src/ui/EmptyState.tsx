import type { ReactNode } from "react";
import { CopyBlock } from "./CopyBlock";

interface EmptyStateProps {
  icon: ReactNode;
  title: string;
  /** What to do next. */
  children: ReactNode;
  action?: ReactNode;
  /** The same step as a request. */
  request?: string;
}

export function EmptyState({ icon, title, children, action, request }: EmptyStateProps) {
  return (
    <div className="mx-auto flex max-w-xl flex-col items-center px-4 py-14 text-center">
      <div className="mb-4 flex size-11 items-center justify-center rounded-xl border border-line bg-surface text-ink-3 shadow-card">
        {icon}
      </div>
      <h2 className="text-base font-semibold">{title}</h2>
      <p className="mt-1 max-w-md text-sm text-ink-2">{children}</p>
      {action && <div className="mt-4">{action}</div>}
      {request && <ApiRequest text={request} />}
    </div>
  );
}

/** The same step for a program. */
export function ApiRequest({ text }: { text: string }) {
  return (
    <div className="mt-8 w-full">
      <p className="mb-2 text-xs text-ink-3">
        Or use the API, with <code className="font-mono">$OSTLER_API_KEY</code> set to a key from
        Organization → API keys:
      </p>
      <CopyBlock text={text} label="Copy request" />
    </div>
  );
}
