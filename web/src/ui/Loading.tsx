import { LoaderCircle } from "lucide-react";
import { classes } from "./classes";

export function Spinner({ label = "Loading" }: { label?: string }) {
  return (
    <span role="status" className="inline-flex items-center gap-2 text-sm text-ink-3">
      <LoaderCircle size={15} className="animate-spin" aria-hidden />
      <span>{label}…</span>
    </span>
  );
}

/** Grey bars in the place of rows to come. */
export function SkeletonRows({ rows = 6, height = "h-13" }: { rows?: number; height?: string }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all alike.
          key={index}
          className={classes("flex items-center gap-4 border-b border-line px-4", height)}
        >
          <div className="h-2.5 w-2/5 animate-pulse-soft rounded bg-hover" />
          <div className="h-2.5 w-1/6 animate-pulse-soft rounded bg-hover" />
        </div>
      ))}
    </div>
  );
}
