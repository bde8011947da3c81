import { useSyncExternalStore } from "react";
import { classes } from "./classes";
import { formatDateTime, formatRelative } from "./format";

// One clock for all relative times of a page.
function subscribeToMinutes(listener: () => void) {
  const timer = setInterval(listener, 30_000);
  return () => clearInterval(timer);
}

const currentHalfMinute = () => Math.floor(Date.now() / 30_000);

/** How long ago something was, with the exact time on hover. */
export function RelativeTime({ time }: { time: string }) {
  useSyncExternalStore(subscribeToMinutes, currentHalfMinute);
  return (
    <time dateTime={time} title={formatDateTime(time)} className="whitespace-nowrap tabular-nums">
      {formatRelative(time)}
    </time>
  );
}

/** When something was, in full. */
export function ExactTime({ time, className }: { time: string; className?: string }) {
  return (
    <time dateTime={time} className={classes("tabular-nums", className)}>
      {formatDateTime(time)}
    </time>
  );
}
