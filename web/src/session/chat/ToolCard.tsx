import { Ban, Check, ChevronRight, CircleHelp, LoaderCircle, X } from "lucide-react";
import { useState } from "react";
import { CallData } from "@/calls/CallData";
import { formatDuration } from "@/ui/format";
import type { ToolItem } from "../feed/state";
import { useChatActions } from "./actions";
import { answerOf } from "./answerOf";
import { summarizeArguments } from "./summarizeArguments";

const STATES: Record<ToolItem["state"], { label: string; icon: React.ReactNode }> = {
  running: {
    label: "Running",
    icon: <LoaderCircle size={15} className="animate-spin text-accent" aria-hidden />,
  },
  succeeded: { label: "Succeeded", icon: <Check size={15} className="text-ok" aria-hidden /> },
  failed: { label: "Failed", icon: <X size={15} className="text-bad" aria-hidden /> },
  denied: { label: "Denied", icon: <Ban size={15} className="text-ink-3" aria-hidden /> },
  unknown: {
    label: "Outcome unknown",
    icon: <CircleHelp size={15} className="text-warn" aria-hidden />,
  },
};

export function ToolCard({ item }: { item: ToolItem }) {
  const { label, icon } = STATES[item.state];
  const { opened } = useChatActions();
  const [open, setOpen] = useState(opened.has(item.id));
  const answer = answerOf(item);
  const summary = item.narration ?? summarizeArguments(item.arguments);
  return (
    <details
      data-role="tool"
      data-tool={item.toolName}
      data-state={item.state}
      className="group card mt-2 overflow-hidden text-sm"
      open={open}
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
        if (event.currentTarget.open) opened.add(item.id);
        else opened.delete(item.id);
      }}
    >
      <summary className="flex items-center gap-2.5 px-3 py-2 hover:bg-hover focus-visible:-outline-offset-2">
        <span title={label}>
          {icon}
          <span className="sr-only">{label}:</span>
        </span>
        <span className="shrink-0 font-medium">{item.displayName}</span>
        <span className="min-w-0 flex-1 truncate text-ink-3">{item.progress ?? summary}</span>
        {answer !== null && (
          <span data-answer className="max-w-1/2 truncate">
            <span className="sr-only">Answer: </span>
            {answer}
          </span>
        )}
        {item.state === "denied" && (
          <span className="text-xs whitespace-nowrap text-ink-3" aria-hidden>
            {label}
          </span>
        )}
        {item.durationMs !== null && (
          <span className="text-xs whitespace-nowrap text-ink-3 tabular-nums">
            {formatDuration(item.durationMs)}
          </span>
        )}
        <ChevronRight
          size={14}
          className="shrink-0 text-ink-3 transition-transform group-open:rotate-90"
          aria-hidden
        />
      </summary>
      {open && <ToolDetails item={item} />}
    </details>
  );
}

function ToolDetails({ item }: { item: ToolItem }) {
  return (
    <div className="space-y-3 border-t border-line bg-sunken p-3">
      <CallData
        title={`Arguments of ${item.toolName}`}
        toolName={item.toolName}
        value={item.arguments}
      />
      {item.error !== null && (
        <div>
          <h4 className="mb-1 text-2xs font-medium text-ink-3">Error</h4>
          <p className="font-mono text-xs text-bad wrap-anywhere">{item.error}</p>
        </div>
      )}
      {item.result !== null && item.result !== undefined && (
        <CallData title="Result" toolName={null} value={item.result} />
      )}
    </div>
  );
}
