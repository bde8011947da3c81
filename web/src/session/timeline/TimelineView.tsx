import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChartNoAxesGantt } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useState } from "react";
import { changed } from "@/shell/search";
import { EmptyState } from "@/ui/EmptyState";
import type { Feed } from "../feed/useSessionFeed";
import { EarlierLine } from "../tail/EarlierLine";
import { JumpToLatest } from "../tail/JumpToLatest";
import { useLink, useTail } from "../tail/useTail";
import { timelineOf } from "./foldTimeline";
import { Inspector } from "./Inspector";
import type { TimelineTurn } from "./model";
import { type Filter, rowsOf } from "./rows";
import { scalesOf } from "./scale";
import { TimelineFilters } from "./TimelineFilters";
import { TimelineLine } from "./TimelineLine";
import { TimelineZoom, ZOOM_STEP } from "./TimelineZoom";
import { useNow } from "./useNow";
import { useZoomGestures } from "./useZoomGestures";
import { fitTo, pan, type View, zoomAt } from "./zoom";

const ROW_HEIGHT = 28;
/** How far a key moves what is shown, as a part of it. */
const PAN_STEP = 0.25;

interface TimelineViewProps {
  sessionId: string;
  feed: Feed;
}

/** Where the time of a session went: its turns and the calls within them, and of each call all that is known. */
export default function TimelineView({ sessionId, feed }: TimelineViewProps) {
  const { log, earlier } = feed;
  const { call } = useSearch({ from: "/app/sessions/$sessionId" });
  const navigate = useNavigate({ from: "/sessions/$sessionId" });
  const [filter, setFilter] = useState<Filter>({});
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const turns = useMemo(() => timelineOf(log, earlier === null), [log, earlier]);
  const lasting = turns.some(({ end }) => end === null);
  const now = useNow(lasting, log.at(-1)?.occurredAt);
  const rows = useMemo(
    () => rowsOf(turns, now, filter, collapsed),
    [turns, now, filter, collapsed],
  );
  const scales = useMemo(() => scalesOf(turns, now), [turns, now]);
  // The router applies a new address a moment later, too late for keys that are held down.
  const [chosen, setChosen] = useState(call);
  useEffect(() => setChosen(call), [call]);
  const found = rows.findIndex(({ id }) => id === chosen);
  const lastTurn = rows.findLastIndex(({ span }) => span === null);
  const current = found >= 0 ? found : lastTurn;
  const filtered = filter.kind !== undefined || filter.only !== undefined;

  const tail = useTail({
    feed,
    keys: rows.map(({ id }) => id),
    estimateSize: () => ROW_HEIGHT,
    // What is looked for may be anywhere.
    whole: filtered || (chosen !== undefined && found < 0),
  });
  const { scroller, list, away, follow, jump } = tail;

  const [view, setView] = useState<View | null>(null);
  const { axis } = scales;
  useZoomGestures(scroller, axis, view !== null, setView);
  const zoom = (factor: number) => setView(zoomAt(view, factor, 0.5, axis));
  const fitSelection = () => {
    const row = rows[current];
    const scale = row && scales.of(row.turn.id);
    if (!scale) return;
    const { start, end } = row.span ?? row.turn;
    setView(fitTo(scale.at(start) * axis, scale.at(end ?? now) * axis, axis));
  };

  const goneTo = useLink(call, call === chosen ? found : -1, tail);

  const choose = (id: string) => {
    goneTo(id);
    setChosen(id);
    void navigate({ search: (search) => changed(search, { call: id }), replace: true });
  };
  const toggle = (turn: TimelineTurn, close: boolean) => {
    const next = new Set(collapsed);
    if (close) next.add(turn.id);
    else next.delete(turn.id);
    setCollapsed(next);
    // A call that is hidden with its turn is not looked for elsewhere.
    if (close && turn.spans.some(({ id }) => id === chosen)) choose(turn.id);
  };

  const zoomByKey = (event: KeyboardEvent): boolean => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      setView(pan(view, event.key === "ArrowLeft" ? -PAN_STEP : PAN_STEP, axis));
      return true;
    }
    switch (event.key.toLowerCase()) {
      case "+":
      case "=":
        zoom(1 / ZOOM_STEP);
        return true;
      case "-":
        zoom(ZOOM_STEP);
        return true;
      case "0":
        setView(null);
        return true;
      case "f":
        fitSelection();
        return true;
      default:
        return false;
    }
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (zoomByKey(event)) {
      event.preventDefault();
      return;
    }
    const row = rows[current];
    if (row && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      toggle(row.turn, event.key === "ArrowLeft");
      return;
    }
    const target = nextIndex(event.key, current, rows.length);
    const next = target === null ? undefined : rows[target];
    if (target === null || !next) return;
    event.preventDefault();
    choose(next.id);
    follow(target === rows.length - 1);
    list.scrollToIndex(target);
  };

  if (turns.length === 0 && earlier === null) {
    return (
      <EmptyState icon={<ChartNoAxesGantt size={20} />} title="No turns yet">
        Send a message to see each step of the answer here as it happens.
      </EmptyState>
    );
  }
  const row = rows[current];
  const whole = row && scales.of(row.turn.id);
  const shown = new Set(list.getVirtualItems().map(({ index }) => index));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <TimelineFilters
        turns={turns}
        partial={earlier !== null}
        filter={filter}
        onChange={setFilter}
      />
      <div className="flex min-h-0 flex-1 flex-col xl:flex-row">
        <div className="relative flex min-h-40 min-w-0 flex-1 flex-col">
          {row && whole && (
            <TimelineZoom
              axis={axis}
              view={view}
              turn={row.turn}
              scale={whole}
              now={now}
              onView={setView}
              onZoom={zoom}
              onFit={fitSelection}
            />
          )}
          <div
            ref={scroller}
            role="listbox"
            aria-label="Turns and calls"
            aria-activedescendant={shown.has(current) ? `line-${current}` : undefined}
            tabIndex={0}
            onKeyDown={onKeyDown}
            className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
          >
            <div role="presentation" className="relative" style={{ height: list.getTotalSize() }}>
              <EarlierLine feed={feed} />
              {list.getVirtualItems().map(({ index, start }) => {
                const each = rows[index];
                const scale = each && scales.of(each.turn.id, view);
                return (
                  each &&
                  scale && (
                    <TimelineLine
                      key={each.id}
                      id={`line-${index}`}
                      row={each}
                      scale={scale}
                      now={now}
                      position={[index + 1, rows.length]}
                      selected={index === current}
                      collapsed={collapsed.has(each.turn.id)}
                      top={start}
                      height={ROW_HEIGHT}
                      onSelect={() => choose(each.id)}
                      onToggle={() => toggle(each.turn, !collapsed.has(each.turn.id))}
                    />
                  )
                );
              })}
            </div>
            {rows.length === 0 && (
              <p className="p-6 text-sm text-ink-3">
                {earlier === null ? "No calls match the filter." : "Searching earlier turns…"}
              </p>
            )}
          </div>
          {away && <JumpToLatest onClick={jump} />}
        </div>
        {row && (
          <Inspector
            key={row.id}
            sessionId={sessionId}
            row={row}
            now={now}
            onHold={() => choose(row.id)}
          />
        )}
      </div>
    </div>
  );
}

function nextIndex(key: string, current: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return Math.min(current + 1, count - 1);
    case "ArrowUp":
      return Math.max(current - 1, 0);
    case "PageDown":
      return Math.min(current + 10, count - 1);
    case "PageUp":
      return Math.max(current - 10, 0);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
