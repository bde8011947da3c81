import { classes } from "@/ui/classes";
import { useWaits } from "./waits";

/** How much waits for somebody, beside the way to it; nothing when nothing does. */
export function WaitCount({ className }: { className?: string }) {
  const { count } = useWaits();
  if (count === null || count === 0) return null;
  return (
    <span
      data-wait-count
      className={classes(
        "min-w-5 rounded-full bg-warn-soft px-1.5 text-center text-2xs leading-5 font-medium text-warn tabular-nums",
        className,
      )}
    >
      {count > 99 ? "99+" : count}
      <span className="sr-only"> waiting</span>
    </span>
  );
}
