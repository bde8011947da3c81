import { ChevronLeft, ChevronRight, Cpu, Hourglass, Webhook, Wrench } from "lucide-react";
import { Badge, type Tone } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { formatDuration } from "@/ui/format";
import type { Mark, Span, TimelineTurn } from "./model";
import type { TimelineRow } from "./rows";
import { type Scale, timeWords } from "./scale";
import {
  costWords,
  feedbackBadge,
  markBadges,
  spanState,
  statusWords,
  tokenWords,
  tookWords,
  turnTitle,
} from "./words";

interface TimelineLineProps {
  id: string;
  row: TimelineRow;
  scale: Scale;
  now: number;
  /** Counted from 1, and of how many: only some are in the page. */
  position: [number, number];
  selected: boolean;
  collapsed: boolean;
  top: number;
  height: number;
  onSelect: () => void;
  onToggle: () => void;
}

const BARS: Record<Span["kind"], string> = {
  model: "bg-accent",
  tool: "bg-brand",
  approval: "hatched",
  wait: "hatched",
  hook: "bg-ink-3",
};

const ICONS: Record<Span["kind"], typeof Cpu> = {
  model: Cpu,
  tool: Wrench,
  approval: Hourglass,
  wait: Hourglass,
  hook: Webhook,
};

const TURN_TONES: Record<TimelineTurn["status"], Tone> = {
  running: "accent",
  waiting: "warn",
  completed: "neutral",
  failed: "bad",
  cancelled: "neutral",
  sealed: "warn",
};

const SPAN_TONES: Record<Span["state"], Tone> = {
  open: "accent",
  ok: "neutral",
  failed: "bad",
  denied: "neutral",
  interrupted: "neutral",
};

const MARKS: Record<Mark["kind"], string> = {
  retry: "bg-warn",
  recovered: "bg-warn",
  cancelled: "bg-ink-3",
  repaired: "bg-warn",
  compacted: "bg-ink-3",
  decided: "bg-ok",
};

/** The columns of a line: what it is, the axis, and what it took. */
export const LINE_GRID =
  "grid grid-cols-[minmax(0,11rem)_minmax(0,1fr)_4rem] items-center gap-2 px-4 sm:grid-cols-[minmax(0,13rem)_minmax(0,1fr)_3rem_4rem_3.5rem] sm:px-6 xl:grid-cols-[minmax(0,11rem)_minmax(0,1fr)_3rem_4rem_3.5rem] xl:px-4 2xl:grid-cols-[minmax(0,20rem)_minmax(0,1fr)_4rem_4.5rem_4rem]";

/** One line of the drawing. */
export function TimelineLine(props: TimelineLineProps) {
  const { id, row, scale, now, position, selected, collapsed, top, height } = props;
  const { turn, span } = row;
  const { start, end, marks } = span ?? turn;
  const shown = (at: number) => at >= 0 && at <= 1;
  const { usage } = span ?? turn;
  const took = tookWords(span ?? turn, now);
  const badges = [
    ...markBadges(marks),
    ...(span ? [] : [feedbackBadge(turn), turn.inherited ? "history" : ""]),
  ].filter((words) => words !== "");
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus and moves through its lines.
    // biome-ignore lint/a11y/useFocusableInteractive: as above.
    <div
      id={id}
      role="option"
      aria-selected={selected}
      aria-posinset={position[0]}
      aria-setsize={position[1]}
      data-span={span?.kind ?? "turn"}
      data-state={span?.state ?? turn.status}
      onClick={props.onSelect}
      style={{ height, transform: `translateY(${top}px)` }}
      className={classes(
        "absolute inset-x-0 top-0 cursor-pointer text-xs",
        LINE_GRID,
        span === null && "border-t border-line bg-sunken font-medium",
        selected ? "bg-hover" : "hover:bg-hover",
      )}
    >
      <span
        className={classes(
          "flex min-w-0 items-center gap-1.5",
          span ? "pl-5" : "max-sm:col-span-2",
        )}
      >
        {span ? (
          <Icon kind={span.kind} />
        ) : (
          <span
            aria-hidden
            data-toggle
            className="-m-1 p-1 text-ink-3 hover:text-ink"
            onClick={(event) => {
              event.stopPropagation();
              props.onToggle();
            }}
          >
            <ChevronRight
              size={13}
              className={classes("transition-transform", !collapsed && "rotate-90")}
            />
          </span>
        )}
        <span className="truncate">
          {span ? span.label : turnTitle(turn)}
          {span?.detail && <span className="pl-0.5 text-ink-3"> {span.detail}</span>}
        </span>
        {span === null && turn.status !== "completed" && (
          <Badge tone={TURN_TONES[turn.status]}>{statusWords(turn)}</Badge>
        )}
        {span && (span.state !== "ok" || span.kind === "approval") && (
          <Badge tone={SPAN_TONES[span.state]}>{spanState(span)}</Badge>
        )}
        <span className="hidden items-center gap-1 sm:flex">
          {badges.map((words) => (
            <Badge key={words}>{words}</Badge>
          ))}
        </span>
      </span>
      <span
        aria-hidden
        data-lane
        className={classes("relative overflow-x-clip", span ? "h-3.5" : "h-4.5 max-sm:hidden")}
      >
        {span === null && <Axis scale={scale} />}
        <Bar row={row} scale={scale} now={now} />
        {scale.breaks
          .filter(
            ({ at, start: from, ms }) => shown(at) && start <= from && from + ms <= (end ?? now),
          )
          .map(({ at, ms }) => (
            <span
              key={at}
              title={`${formatDuration(ms)} of waiting, drawn shorter`}
              data-break
              className="absolute inset-y-0 flex w-3 -translate-x-1/2 items-center justify-center bg-surface text-2xs text-ink-2"
              style={{ left: percent(at) }}
            >
              {"//"}
            </span>
          ))}
        {marks
          .filter((mark) => shown(scale.at(mark.at)))
          .map((mark) => (
            <span
              key={`${mark.kind}:${mark.at}:${mark.words}`}
              title={mark.words}
              className={classes("absolute -inset-y-0.5 w-0.75 rounded-full", MARKS[mark.kind])}
              style={{ left: percent(scale.at(mark.at)) }}
            />
          ))}
      </span>
      <span className="hidden text-right text-ink-2 tabular-nums sm:block">
        {tokenWords(usage)}
      </span>
      <span className="hidden text-right text-ink-2 tabular-nums sm:block">{costWords(usage)}</span>
      <span className="text-right text-ink-2 tabular-nums">{took}</span>
    </div>
  );
}

function Icon({ kind }: { kind: Span["kind"] }) {
  const Drawn = ICONS[kind];
  return <Drawn size={13} aria-hidden className="shrink-0 text-ink-3" />;
}

/** Round times since the start of the turn. */
function Axis({ scale }: { scale: Scale }) {
  return scale.ticks.map(({ ms, at }) => (
    <span
      key={ms}
      data-tick={ms}
      className="absolute inset-y-0 hidden border-l border-line-strong pl-0.5 text-2xs leading-3 font-normal whitespace-nowrap text-ink-3 sm:block"
      style={{ left: percent(at) }}
    >
      {timeWords(ms, scale.step)}
    </span>
  ));
}

interface BarProps {
  row: TimelineRow;
  scale: Scale;
  now: number;
}

function Bar({ row: { turn, span }, scale, now }: BarProps) {
  const { start, end } = span ?? turn;
  const from = scale.at(start);
  const to = scale.at(end ?? now);
  if (to < 0 || from > 1) return <Beside before={to < 0} />;
  const left = Math.max(0, from);
  const right = Math.min(1, to);
  const firstTokenMs = span?.usage?.firstTokenMs ?? null;
  const firstToken = firstTokenMs === null ? null : scale.at(start + firstTokenMs);
  return (
    <>
      <span
        className={classes(
          "absolute inset-y-0 min-w-0.5 rounded-sm",
          span ? barColour(span) : "top-3 bg-line-strong",
          span?.state === "interrupted" && "opacity-50",
          (span ? span.state === "open" : end === null) && "animate-pulse-soft",
        )}
        style={{ left: percent(left), width: percent(right - left) }}
      />
      {firstToken !== null && firstToken >= 0 && firstToken <= 1 && (
        <span
          title="First token"
          className="absolute inset-y-0 w-px bg-surface"
          style={{ left: percent(firstToken) }}
        />
      )}
    </>
  );
}

/** What is not in the part of the axis that is shown lies before it or after it. */
function Beside({ before }: { before: boolean }) {
  const Arrow = before ? ChevronLeft : ChevronRight;
  return (
    <Arrow
      size={12}
      data-beside={before ? "before" : "after"}
      className={classes("absolute inset-y-0 my-auto text-ink-3", before ? "left-0" : "right-0")}
    />
  );
}

/** A call that failed is told from the others by its colour. */
export function barColour({ kind, state }: Span): string {
  return state === "failed" && kind !== "approval" ? "bg-bad" : BARS[kind];
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(3)}%`;
}
