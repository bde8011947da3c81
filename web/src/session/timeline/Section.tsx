import type { ReactNode } from "react";
import { CopyButton } from "@/ui/CopyButton";
import { JsonBlock } from "@/ui/JsonBlock";

interface SectionProps {
  title: ReactNode;
  /** What the button copies. */
  copied: string;
  children: ReactNode;
}

/** A part of what is known of a call, to be taken elsewhere. */
export function Section({ title, copied, children }: SectionProps) {
  return (
    <div className="card overflow-hidden text-sm">
      <div className="flex min-h-8 items-center gap-2 border-b border-line pl-3 text-xs text-ink-2">
        <span className="min-w-0 flex-1 truncate">{title}</span>
        <CopyButton text={copied} label="Copy" />
      </div>
      <div className="space-y-2 px-3 py-2">{children}</div>
    </div>
  );
}

/** A section of data. */
export function Block({ title, value }: { title: ReactNode; value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <Section title={title} copied={text}>
      <JsonBlock value={value} />
    </Section>
  );
}
