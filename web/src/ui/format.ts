import { formatAmount, roundedAmount } from "@/money/amounts";

// All dates are shown in the viewer's own zone and words.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });

export function formatRelative(time: string, now = Date.now()): string {
  const past = new Date(time).getTime() - now;
  const distance = Math.abs(past);
  if (distance < MINUTE) return "just now";
  if (distance < HOUR) return relative.format(Math.round(past / MINUTE), "minute");
  if (distance < DAY) return relative.format(Math.round(past / HOUR), "hour");
  if (distance < 30 * DAY) return relative.format(Math.round(past / DAY), "day");
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(new Date(time));
}

export function formatDateTime(time: string): string {
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(
    new Date(time),
  );
}

export function formatClock(time: string | Date): string {
  return new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }).format(new Date(time));
}

/** To the millisecond, for logs. */
export function formatPreciseClock(time: string): string {
  return new Intl.DateTimeFormat(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hour12: false,
  }).format(new Date(time));
}

export function formatDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / 1000)} s`;
}

export function formatCount(count: number): string {
  return new Intl.NumberFormat(undefined, {
    notation: count >= 10_000 ? "compact" : "standard",
    maximumFractionDigits: 1,
  }).format(count);
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Money for the eye. The exact decimal stays in the data. */
export function formatCost(usd: string | null): string {
  return usd === null ? "no price" : formatAmount(roundedAmount(usd, "usd"), "usd");
}
