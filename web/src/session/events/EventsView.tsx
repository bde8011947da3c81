import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search, X } from "lucide-react";
import { useMemo, useState } from "react";
import { type Change, changed } from "@/shell/search";
import { Button } from "@/ui/Button";
import { Filter } from "@/ui/Field";
import { formatCount } from "@/ui/format";
import type { Feed } from "../feed/useSessionFeed";
import type { SessionSearch } from "../search";
import { EarlierLine } from "../tail/EarlierLine";
import { JumpToLatest } from "../tail/JumpToLatest";
import { useTail } from "../tail/useTail";
import { EventRow } from "./EventRow";
import { filterEvents, kindsOf } from "./filterEvents";

const ROW_HEIGHT = 36;

/** The raw log of durable events, oldest first. */
export default function EventsView({ feed }: { feed: Feed }) {
  const { log } = feed;
  const { kind, q, turn } = useSearch({ from: "/app/sessions/$sessionId" });
  const shown = useMemo(() => filterEvents(log, { kind, text: q, turn }), [log, kind, q, turn]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const { scroller, list, away, jump } = useTail({
    feed,
    keys: shown.map(({ id }) => id),
    estimateSize: () => ROW_HEIGHT,
    // What is looked for may be anywhere.
    whole: shown !== log,
  });

  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <EventFilters feed={feed} shown={shown.length} />
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <div className="relative" style={{ height: list.getTotalSize() }}>
          <EarlierLine feed={feed} />
          {shown.length === 0 && (
            <p className="p-6 text-sm text-ink-3">
              {feed.earlier !== null
                ? "Searching earlier events…"
                : log.length === 0
                  ? "No events yet."
                  : "No events match the filter."}
            </p>
          )}
          {list.getVirtualItems().map(({ index, start }) => {
            const event = shown[index];
            return (
              event && (
                <div
                  key={event.id}
                  ref={list.measureElement}
                  data-index={index}
                  className="absolute inset-x-0 top-0"
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <EventRow event={event} open={open.has(event.id)} onToggle={toggle} />
                </div>
              )
            );
          })}
        </div>
      </div>
      {away && <JumpToLatest onClick={jump} />}
    </div>
  );
}

interface EventFiltersProps {
  feed: Feed;
  shown: number;
}

function EventFilters({ feed, shown }: EventFiltersProps) {
  const { log, earlier, loadEarlier } = feed;
  const { kind, q, turn } = useSearch({ from: "/app/sessions/$sessionId" });
  const navigate = useNavigate({ from: "/sessions/$sessionId" });
  const kinds = useMemo(() => kindsOf(log), [log]);
  // The router applies a new address a moment later, too late for a text field to wait for.
  const [text, setText] = useState(q ?? "");
  const filter = (change: Change<SessionSearch>) =>
    void navigate({ search: (search) => changed(search, change), replace: true });
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2 sm:px-6">
      <div className="relative min-w-40 flex-1 sm:max-w-72">
        <Search size={14} className="absolute top-2.25 left-2.5 text-ink-3" aria-hidden />
        <input
          type="search"
          aria-label="Search the data of events"
          placeholder="Search in the data"
          className="control pl-8"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            filter({ q: event.target.value || undefined });
          }}
        />
      </div>
      <Filter
        label="Kind"
        className="w-48"
        value={kind}
        none="All kinds"
        // Which kinds there are, only the whole log knows.
        onFocus={() => void loadEarlier(true)}
        options={kinds.map((each) => [each, each])}
        onChange={(next) => filter({ kind: next })}
      />
      {turn !== undefined && (
        <Button look="ghost" onClick={() => filter({ turn: undefined })}>
          One turn only
          <X size={13} aria-label="Show all turns" />
        </Button>
      )}
      <span className="ml-auto text-xs text-ink-3 tabular-nums">
        {earlier === null ? "" : "latest "}
        {shown === log.length
          ? `${formatCount(log.length)} events`
          : `${formatCount(shown)} of ${formatCount(log.length)}`}
      </span>
    </div>
  );
}
