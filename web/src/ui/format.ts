// How numbers, sizes, durations and times are written, everywhere: in the viewer's zone, dates and numbers as in their language.
// Amounts of money and of other currencies are decimals, and written by money/amounts.ts.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const toMinute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const shortDay = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  timeZone: "UTC",
});
const dateTick = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const minuteTick = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const preciseClock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});
const count = new Intl.NumberFormat();
const oneDecimal = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

type Instant = string | number | Date;

export function formatRelative(time: string, now = Date.now()): string {
  const past = new Date(time).getTime() - now;
  const distance = Math.abs(past);
  if (distance < MINUTE) return "just now";
  if (distance < HOUR) return relative.format(Math.round(past / MINUTE), "minute");
  if (distance < DAY) return relative.format(Math.round(past / HOUR), "hour");
  if (distance < 30 * DAY) return relative.format(Math.round(past / DAY), "day");
  return date.format(new Date(time));
}

export function formatDateTime(time: Instant): string {
  return dateTime.format(new Date(time));
}

/** For times that are whole minutes, or no more exact than that. */
export function formatToMinute(time: Instant): string {
  return toMinute.format(new Date(time));
}

/** A day as the API names it, `2026-11-22`: days of usage are those of UTC. */
export function formatDay(iso: string): string {
  return day.format(new Date(iso));
}

/** Without its year, for axes. */
export function formatShortDay(iso: string): string {
  return shortDay.format(new Date(iso));
}

/** A mark on an axis whose marks are so far from each other. */
export function formatTick(time: Instant, stepMs: number): string {
  const form = stepMs >= DAY ? dateTick : stepMs >= MINUTE ? minuteTick : clock;
  return form.format(new Date(time));
}

export function formatClock(time: Instant): string {
  return clock.format(new Date(time));
}

/** To the millisecond, for logs. */
export function formatPreciseClock(time: Instant): string {
  return preciseClock.format(new Date(time));
}

const LONG: readonly [length: number, name: string, part: number, partName: string][] = [
  [DAY, "d", HOUR, "h"],
  [HOUR, "h", MINUTE, "min"],
  [MINUTE, "min", SECOND, "s"],
];

/** A length of time in its two largest units: `850 ms`, `1.2 s`, `3 min 5 s`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (Math.round(ms) < SECOND) return `${Math.round(ms)} ms`;
  // Whether it is an hour or less is told by its seconds: 59 min 59.8 s are an hour.
  const seconds = Math.round(ms / SECOND) * SECOND;
  for (const [length, name, part, partName] of LONG) {
    if (seconds < length) continue;
    const parts = Math.round(ms / part);
    const rest = parts % (length / part);
    const whole = `${Math.floor((parts * part) / length)} ${name}`;
    return rest === 0 ? whole : `${whole} ${rest} ${partName}`;
  }
  return `${ms < 10 * SECOND ? oneDecimal.format(ms / SECOND) : seconds / SECOND} s`;
}

/** All of its digits. */
export function formatCount(value: number): string {
  return count.format(value);
}

const SIZES = ["B", "kB", "MB", "GB", "TB"];

export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 999.95 && unit < SIZES.length - 1; unit += 1) value /= 1000;
  return `${oneDecimal.format(value)} ${SIZES[unit]}`;
}
