import type { TimelineTurn } from "./model";

/** Where the times of one turn stand on the axis that all turns share: 0 is its start, 1 the end of the axis. */
export interface Scale {
  at: (time: number) => number;
  /** Round times since the start of the turn, in milliseconds. */
  ticks: readonly { ms: number; at: number }[];
  /** The waits that are drawn shorter than they were: a night would leave nothing to see of the work. */
  breaks: readonly { start: number; ms: number; at: number }[];
}

/** A wait takes at most this part of the longest time that one of the turns worked. */
const LONGEST_WAIT = 1 / 4;
const TICKS = 6;
const CLOSEST_TICKS = 0.06;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The scales of turns. A second is as wide in one as in another; `now` stands for the end of what still lasts. */
export function scalesOf(turns: readonly TimelineTurn[], now: number): Map<string, Scale> {
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
  const drawn = measured.map(({ turn, end, waits }) => {
    const cut = waits.filter((wait) => wait.end - wait.start > longest);
    /** How long the turn is drawn up to a time, in milliseconds of the axis. */
    const until = (time: number) =>
      cut.reduce(
        (length, wait) => {
          const share = clamp((time - wait.start) / (wait.end - wait.start), 0, 1);
          return length - share * (wait.end - wait.start - longest);
        },
        clamp(time, turn.start, end) - turn.start,
      );
    return { turn, end, cut, until };
  });
  const axis = Math.max(LONGEST_WAIT, ...drawn.map(({ end, until }) => until(end)));
  const step = roundStep(axis / TICKS);
  return new Map(
    drawn.map(({ turn, end, cut, until }) => {
      const at = (time: number) => clamp(until(time) / axis, 0, 1);
      const breaks = cut.map(({ start, end: over }) => ({
        start,
        ms: over - start,
        at: at((start + over) / 2),
      }));
      const edges = [turn.start, ...cut.flatMap((wait) => [wait.start, wait.end]), end];
      const ticks: { ms: number; at: number }[] = [];
      for (let i = 0; i < edges.length; i += 2) {
        const from = Math.ceil(((edges[i] ?? 0) - turn.start) / step) * step;
        for (let ms = from; turn.start + ms < (edges[i + 1] ?? 0); ms += step) {
          const place = at(turn.start + ms);
          const last = ticks.at(-1);
          const room = place <= 1 - CLOSEST_TICKS && (!last || place - last.at >= CLOSEST_TICKS);
          if (room) ticks.push({ ms, at: place });
        }
      }
      return [turn.id, { at, ticks, breaks }];
    }),
  );
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
