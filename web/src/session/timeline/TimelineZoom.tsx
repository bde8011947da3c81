import { Maximize2, Minus, Plus, Scan } from "lucide-react";
import { type PointerEvent, useRef } from "react";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { formatDuration } from "@/ui/format";
import type { TimelineTurn } from "./model";
import { type Scale, timeWords } from "./scale";
import { barColour, LINE_GRID, percent } from "./TimelineLine";
import { placeIn } from "./useZoomGestures";
import { between, pan, type View } from "./zoom";

interface TimelineZoomProps {
  axis: number;
  view: View | null;
  /** The turn that is drawn in small, on all of the axis. */
  turn: TimelineTurn;
  scale: Scale;
  now: number;
  onView: (view: View | null) => void;
  /** Zooms around the middle; above 1 more is shown. */
  onZoom: (factor: number) => void;
  onFit: () => void;
}

export const ZOOM_STEP = 1.6;

/** Which part of the axis is shown: buttons, and all of the axis with a window to draw and to drag. */
export function TimelineZoom(props: TimelineZoomProps) {
  const { axis, view, onView, onZoom, onFit } = props;
  const shown = view ?? { from: 0, to: axis };
  return (
    <div className={classes(LINE_GRID, "border-b border-line py-1 text-xs")}>
      <span className="flex items-center gap-0.5">
        <ZoomButton label="Zoom in (+)" onClick={() => onZoom(1 / ZOOM_STEP)}>
          <Plus size={13} />
        </ZoomButton>
        <ZoomButton label="Zoom out (-)" disabled={view === null} onClick={() => onZoom(ZOOM_STEP)}>
          <Minus size={13} />
        </ZoomButton>
        <ZoomButton label="Zoom to the selection (F)" onClick={onFit}>
          <Scan size={13} />
        </ZoomButton>
        <ZoomButton label="Show all (0)" disabled={view === null} onClick={() => onView(null)}>
          <Maximize2 size={13} />
        </ZoomButton>
        <output aria-label="Shown" className="truncate pl-1 text-ink-3 tabular-nums max-sm:hidden">
          {view === null
            ? formatDuration(axis)
            : `${timeWords(shown.from, shown.to - shown.from)} – ${timeWords(shown.to, shown.to - shown.from)}`}
        </output>
      </span>
      <Brush {...props} />
    </div>
  );
}

interface ZoomButtonProps {
  label: string;
  disabled?: boolean;
  onClick: () => void;
  children: React.ReactNode;
}

function ZoomButton(props: ZoomButtonProps) {
  return <IconButton {...props} className="size-6! text-ink-3" />;
}

type Grip = "new" | "move" | "from" | "to";

/** At so many pixels from an edge of the window, it is the edge that is dragged. */
const EDGE = 6;

function Brush({ axis, view, turn, scale, now, onView }: TimelineZoomProps) {
  const grip = useRef<{ kind: Grip; start: number; view: View } | null>(null);
  const shown = view ?? { from: 0, to: axis };

  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = event.currentTarget.getBoundingClientRect();
    const start = placeIn(box, event.clientX) * axis;
    const near = (EDGE / box.width) * axis;
    grip.current = { kind: gripAt(view, start, near), start, view: shown };
  };
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const held = grip.current;
    if (!held) return;
    const box = event.currentTarget.getBoundingClientRect();
    const here = placeIn(box, event.clientX) * axis;
    // A click draws nothing.
    if (held.kind === "new" && (Math.abs(here - held.start) / axis) * box.width < EDGE / 2) return;
    onView(dragged(held, here, axis));
  };
  const release = () => {
    grip.current = null;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons beside it and the keys of the list do the same.
    <div
      data-brush
      title="Drag to zoom, double-click to show all"
      className="relative h-5 cursor-crosshair touch-none overflow-hidden rounded-sm bg-sunken select-none"
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={release}
      onPointerCancel={release}
      onDoubleClick={() => onView(null)}
    >
      {turn.spans.slice(0, MOST_SPANS).map((span) => (
        <span
          key={span.id}
          data-state={span.state}
          className={classes("absolute inset-y-1.5 min-w-px border-0", barColour(span))}
          style={{
            left: percent(scale.at(span.start)),
            width: percent(scale.at(span.end ?? now) - scale.at(span.start)),
          }}
        />
      ))}
      {view !== null && (
        <span
          data-window
          className="absolute inset-y-0 cursor-grab rounded-sm border-x-2 border-accent bg-accent/15"
          style={{
            left: percent(view.from / axis),
            width: percent((view.to - view.from) / axis),
          }}
        />
      )}
    </div>
  );
}

/** More can't be told apart in so small a drawing. */
const MOST_SPANS = 300;

function gripAt(view: View | null, place: number, near: number): Grip {
  if (view === null) return "new";
  if (Math.abs(place - view.from) <= near) return "from";
  if (Math.abs(place - view.to) <= near) return "to";
  return place > view.from && place < view.to ? "move" : "new";
}

function dragged(
  held: { kind: Grip; start: number; view: View },
  here: number,
  axis: number,
): View | null {
  const { from, to } = held.view;
  switch (held.kind) {
    case "new":
      return between(held.start, here, axis);
    case "move":
      return pan(held.view, (here - held.start) / (to - from), axis);
    case "from":
      return between(here, to, axis);
    case "to":
      return between(from, here, axis);
  }
}
