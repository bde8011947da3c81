import type { ReactNode } from "react";
import { CopyButton } from "@/ui/CopyButton";

interface MessageToolsProps {
  text: string;
  /** Beside copying. */
  children?: ReactNode;
}

/** What can be done with a message. It takes its place at once, so that nothing moves when it appears. */
export function MessageTools({ text, children }: MessageToolsProps) {
  if (text === "" && !children) return null;
  return (
    <div className="-ml-1.5 flex h-7 items-center opacity-0 transition-opacity group-focus-within/message:opacity-100 group-hover/message:opacity-100 pointer-coarse:opacity-100">
      {text !== "" && <CopyButton text={text} label="Copy message" className="size-7 text-ink-3" />}
      {children}
    </div>
  );
}
