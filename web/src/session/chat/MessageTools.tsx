import type { ReactNode } from "react";
import { CopyButton } from "@/ui/CopyButton";

interface MessageToolsProps {
  text: string;
  /** Beside copying. */
  children?: ReactNode;
}

/** What can be done with a message. It lies over what follows, so that nothing moves when it appears; where nothing can be pointed at it has its place. */
export function MessageTools({ text, children }: MessageToolsProps) {
  if (text === "" && !children) return null;
  return (
    <div className="pointer-events-none absolute top-full right-0 z-10 flex h-7 items-center rounded-md bg-surface opacity-0 transition-opacity group-focus-within/message:pointer-events-auto group-focus-within/message:opacity-100 group-hover/message:pointer-events-auto group-hover/message:opacity-100 pointer-coarse:pointer-events-auto pointer-coarse:static pointer-coarse:opacity-100">
      {text !== "" && <CopyButton text={text} label="Copy message" className="size-7 text-ink-3" />}
      {children}
    </div>
  );
}
