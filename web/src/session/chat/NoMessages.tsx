import { MessageSquareDashed } from "lucide-react";
import { EmptyState } from "@/ui/EmptyState";

/** What most agents can do at once, the simulated model included. */
const SAMPLES = [
  "What time is it in Tokyo?",
  "Write hello world to notes.txt and then read it back",
  "Make a plan for a birthday party",
  "Create a file ideas.md with content # Ideas, then list the files",
] as const;

interface NoMessagesProps {
  /** Sends a message; null for somebody who may only read. */
  onSend: ((text: string) => void) | null;
}

/** What a session shows before its first message. */
export function NoMessages({ onSend }: NoMessagesProps) {
  if (!onSend) {
    return (
      <EmptyState icon={<MessageSquareDashed size={20} />} title="No messages yet">
        New messages appear here as they arrive.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<MessageSquareDashed size={20} />}
      title="Start the conversation"
      action={
        <ul aria-label="Sample messages" className="grid gap-2 text-left sm:grid-cols-2">
          {SAMPLES.map((text) => (
            <li key={text}>
              <button
                type="button"
                onClick={() => onSend(text)}
                className="card h-full w-full px-3.5 py-2.5 text-left text-sm transition-colors hover:bg-hover"
              >
                {text}
              </button>
            </li>
          ))}
        </ul>
      }
    >
      Write a message below, or try one of these. The agent works in the background; you can close
      this page at any time.
    </EmptyState>
  );
}
