import { ChevronRight } from "lucide-react";
import { classes } from "@/ui/classes";
import { formatDateTime, formatPreciseClock } from "@/ui/format";
import { JsonBlock } from "@/ui/JsonBlock";
import type { SessionEvent } from "../feed/event";

interface EventRowProps {
  event: SessionEvent;
  open: boolean;
  onToggle: (id: string) => void;
}

export function EventRow({ event, open, onToggle }: EventRowProps) {
  const hasData = event.data !== null && JSON.stringify(event.data) !== "{}";
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => onToggle(event.id)}
        className="grid h-9 w-full grid-cols-[2.75rem_minmax(9rem,13rem)_minmax(0,1fr)_auto] items-center gap-3 px-4 text-left font-mono text-xs hover:bg-hover focus-visible:-outline-offset-2 sm:grid-cols-[3rem_13rem_minmax(0,1fr)_6.5rem_1rem] sm:px-6"
      >
        <span className="text-ink-3 tabular-nums">{event.sequence}</span>
        <span className={classes("truncate font-medium", kindColour(event.kind))}>
          {event.kind}
        </span>
        <span className="truncate text-ink-3">{hasData && JSON.stringify(event.data)}</span>
        <time
          dateTime={event.occurredAt}
          title={formatDateTime(event.occurredAt)}
          className="hidden text-right text-ink-3 tabular-nums sm:block"
        >
          {formatPreciseClock(event.occurredAt)}
        </time>
        <ChevronRight
          size={13}
          className={classes("text-ink-3 transition-transform", open && "rotate-90")}
          aria-hidden
        />
      </button>
      {open && (
        <div className="space-y-2 bg-sunken px-4 py-3 sm:px-6 sm:pl-[5.25rem]">
          <p className="font-mono text-2xs text-ink-3 wrap-anywhere">
            {formatDateTime(event.occurredAt)} · {event.id}
            {event.turnId && ` · ${event.turnId}`}
          </p>
          <JsonBlock value={event.data} />
        </div>
      )}
    </div>
  );
}

function kindColour(kind: string): string {
  if (/FAILED|SEALED/.test(kind)) return "text-bad";
  if (kind.startsWith("TURN_")) return "text-accent";
  if (kind.startsWith("TOOL_") || kind.startsWith("ACT_")) return "text-brand";
  return "text-ink";
}
