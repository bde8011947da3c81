import { formatDuration } from "@/ui/format";
import type { TimelineTurn } from "./model";
import type { View } from "./zoom";

/** Where the times of one turn stand in the part of the axis that is shown: 0 is its beginning, 1 its end; all else is beside it. */
export interface Scale {
  at: (time: number) => number;
  /** Round times since the start of the turn, in milliseconds. */
  ticks: readonly Tick[];
  /** What lies between two of them. */
  step: number;
  /** The waits that are drawn shorter than they were: a night would leave nothing to see of the work. */
  breaks: readonly { start: number; ms: number; at: number }[];
}

interface Tick {
  readonly ms: number;
  readonly at: number;
}

/** The scales of all turns, on the axis that they share: a second is as wide in one as in another. */
export interface Scales {
  /** How long the axis is, in milliseconds as they are drawn. */
  readonly axis: number;
  /** The scale of a turn in a part of the axis; all of it is shown without one. */
  of: (turnId: string, view?: View | null) => Scale | undefined;
}

/** A wait takes at most this part of the longest time that one of the turns worked. */
const LONGEST_WAIT = 1 / 4;
const TICKS = 6;
const CLOSEST_TICKS = 0.06;
/** Beyond it a label would not fit before the end of the axis. */
const LAST_TICK = 0.88;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The scales of turns. `now` stands for the end of what still lasts. */
export function scalesOf(turns: readonly TimelineTurn[], now: number): Scales {
  const measured = turns.map((turn) => {
    const end = Math.max(turn.end ?? now, turn.start + 1);
    const waits = turn.waits.map((wait) => ({
      start: clamp(wait.start, turn.start, end),
      end: clamp(wait.end ?? end, turn.start, end),
    }));
    const waited = waits.reduce((sum, wait) => sum + wait.end - wait.start, 0);
    return { turn, end, waits, worked: end - turn.start - waited };
  });
  const longest = Math.max(1, ...measured.map(({ worked }) => worked)) * LONGEST_WAIT;
  const drawn = new Map(
    measured.map(({ turn: { id, start }, end, waits }) => {
      const cut = waits.filter((wait) => wait.end - wait.start > longest);
      return [id, new DrawnTurn(start, end, cut, longest)] as const;
    }),
  );
  const axis = Math.max(LONGEST_WAIT, ...[...drawn.values()].map((turn) => turn.until(turn.end)));
  return {
    axis,
    of: (turnId, view) => drawn.get(turnId)?.scale(view ?? { from: 0, to: axis }),
  };
}

interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** A turn as it is drawn: some of its waits are no longer than `longest` milliseconds. */
class DrawnTurn {
  constructor(
    readonly start: number,
    readonly end: number,
    readonly cut: readonly Stretch[],
    readonly longest: number,
  ) {}

  /** How long the turn is drawn up to a time, in milliseconds of the axis. */
  until(time: number): number {
    return this.cut.reduce(
      (length, wait) => {
        const share = clamp((time - wait.start) / (wait.end - wait.start), 0, 1);
        return length - share * (wait.end - wait.start - this.longest);
      },
      clamp(time, this.start, this.end) - this.start,
    );
  }

  scale({ from, to }: View): Scale {
    const at = (time: number) => (this.until(time) - from) / (to - from);
    const breaks = this.cut.map(({ start, end }) => ({
      start,
      ms: end - start,
      at: at((start + end) / 2),
    }));
    const step = roundStep((to - from) / TICKS);
    return { at, ticks: this.#ticks({ from, to }, step, at), step, breaks };
  }

  #ticks({ from, to }: View, step: number, at: (time: number) => number): Tick[] {
    const edges = [this.start, ...this.cut.flatMap((wait) => [wait.start, wait.end]), this.end];
    const ticks: Tick[] = [];
    for (let i = 0; i < edges.length; i += 2) {
      const start = edges[i] ?? 0;
      const end = edges[i + 1] ?? 0;
      // Between two cuts a millisecond is one of the axis.
      const drawnAt = this.until(start);
      const first = Math.max(start, start + from - drawnAt) - this.start;
      const last = Math.min(end, start + to - drawnAt) - this.start;
      for (let ms = Math.ceil(first / step) * step; ms < last; ms += step) {
        const place = at(this.start + ms);
        const before = ticks.at(-1);
        const room = place <= LAST_TICK && (!before || place - before.at >= CLOSEST_TICKS);
        if (room) ticks.push({ ms, at: place });
      }
    }
    return ticks;
  }
}

/** The first round time from `least` on, in milliseconds. */
function roundStep(least: number): number {
  const rounds = [
    ...[1, 10, 100, SECOND].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
    ...[SECOND, MINUTE].flatMap((unit) => [
      10 * unit,
      20 * unit,
      60 * unit,
      120 * unit,
      300 * unit,
    ]),
  ];
  return rounds.find((round) => round >= least) ?? Math.ceil(least / HOUR) * HOUR;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** A time as precise as the ticks that it stands among. */
export function timeWords(ms: number, step: number): string {
  if (ms === 0) return "0";
  if (ms < SECOND || step >= SECOND) return formatDuration(ms);
  const digits = step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return `${(ms / SECOND).toFixed(digits)} s`;
}
