import type { TimelineTurn } from "./model";

/** Of the width, at most this is for the time in which all of a turn waited for somebody. */
const WAITING_SHARE = 0.3;

export interface Scale {
  /** Where a time stands between the turn's begin (0) and its end (1). */
  at: (time: number) => number;
  /** Waiting is drawn shorter than the work: a night would leave nothing to see of it. */
  shortened: boolean;
}

/** The scale of one turn; `now` stands for the end of what still lasts. */
export function scaleOf(turn: TimelineTurn, now: number): Scale {
  const end = Math.max(turn.end ?? now, turn.start + 1);
  const waits = turn.spans
    .filter(({ kind }) => kind === "wait")
    .map((span) => ({
      start: clamp(span.start, turn.start, end),
      end: clamp(span.end ?? end, turn.start, end),
    }));
  const total = end - turn.start;
  const waited = waits.reduce((sum, wait) => sum + wait.end - wait.start, 0);
  const shortened = waited > total * WAITING_SHARE && waited < total;
  const weights = shortened
    ? { wait: WAITING_SHARE / waited, work: (1 - WAITING_SHARE) / (total - waited) }
    : { wait: 1 / total, work: 1 / total };
  return {
    shortened,
    at: (time) => {
      const until = clamp(time, turn.start, end);
      const before = waits.reduce(
        (sum, wait) => sum + Math.max(0, Math.min(until, wait.end) - wait.start),
        0,
      );
      const position = before * weights.wait + (until - turn.start - before) * weights.work;
      return clamp(position, 0, 1);
    },
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
