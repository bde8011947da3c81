import { ChartNoAxesGantt } from "lucide-react";
import { type KeyboardEvent, useMemo, useState } from "react";
import { EmptyState } from "@/ui/EmptyState";
import type { Feed } from "../feed/useSessionFeed";
import { EarlierLine } from "../tail/EarlierLine";
import { JumpToLatest } from "../tail/JumpToLatest";
import { useTail } from "../tail/useTail";
import { timelineOf } from "./foldTimeline";
import { rowsOf } from "./rows";
import { scalesOf } from "./scale";
import { TimelineLegend } from "./TimelineLegend";
import { TimelineLine } from "./TimelineLine";
import { TurnTable } from "./TurnTable";
import { useNow } from "./useNow";

const ROW_HEIGHT = 28;

/** Where the time of a session went: its turns, their steps, and the calls within those. */
export default function TimelineView({ feed }: { feed: Feed }) {
  const { log, earlier } = feed;
  const turns = useMemo(() => timelineOf(log, earlier === null), [log, earlier]);
  const rows = useMemo(() => rowsOf(turns), [turns]);
  const lasting = turns.some(({ end }) => end === null);
  const now = useNow(lasting, log.at(-1)?.occurredAt);
  const scales = useMemo(() => scalesOf(turns, now), [turns, now]);
  const [chosen, setChosen] = useState<string | null>(null);
  const found = rows.findIndex(({ id }) => id === chosen);
  const lastTurn = rows.findLastIndex(({ span }) => span === null);
  const current = found >= 0 ? found : lastTurn;

  const { scroller, list, following, follow, jump } = useTail({
    feed,
    keys: rows.map(({ id }) => id),
    estimateSize: () => ROW_HEIGHT,
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const target = nextIndex(event.key, current, rows.length);
    const row = target === null ? undefined : rows[target];
    if (target === null || !row) return;
    event.preventDefault();
    setChosen(row.id);
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
  const turn = rows[current]?.turn;
  const shown = new Set(list.getVirtualItems().map(({ index }) => index));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <TimelineLegend />
      <div
        ref={scroller}
        role="listbox"
        aria-label="Turns, steps and calls"
        aria-activedescendant={shown.has(current) ? `line-${current}` : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        className="min-h-40 flex-[3] overflow-y-auto focus-visible:-outline-offset-2"
      >
        <div role="presentation" className="relative" style={{ height: list.getTotalSize() }}>
          <EarlierLine feed={feed} />
          {list.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            const scale = row && scales.get(row.turn.id);
            return (
              row &&
              scale && (
                <TimelineLine
                  key={row.id}
                  id={`line-${index}`}
                  row={row}
                  scale={scale}
                  now={now}
                  position={[index + 1, rows.length]}
                  selected={index === current}
                  top={start}
                  height={ROW_HEIGHT}
                  onSelect={() => setChosen(row.id)}
                />
              )
            );
          })}
        </div>
      </div>
      {!following && <JumpToLatest onClick={jump} />}
      {turn && <TurnTable turn={turn} spanId={rows[current]?.span?.id ?? null} now={now} />}
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
