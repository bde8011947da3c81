import { Scissors } from "lucide-react";

/** From here on the agent sees only a part of the conversation, or all of it again. */
export function ContextDivider({ complete }: { complete: boolean }) {
  return (
    <p data-role="context" className="my-6 flex items-center gap-1.5 text-xs text-ink-3">
      <Scissors size={13} aria-hidden className="shrink-0" />
      {complete
        ? "The agent sees the complete conversation again."
        : "The conversation no longer fits the model’s context window. From here on, the agent doesn’t see its oldest messages."}
    </p>
  );
}
