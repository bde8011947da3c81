import { formatCount, formatDateTime } from "@/ui/format";

/** How many there were from a time on, and how many of them went wrong. */
export interface Bar {
  startsAt: string;
  count: number;
  bad: number;
}

interface BarsProps {
  /** What it shows, for those who can't see it. */
  label: string;
  bars: readonly Bar[];
  /** In pixels. */
  height: number;
}

/** A bar for each interval, as high as it has many; what went wrong is the lower part of it. */
export function Bars({ label, bars, height }: BarsProps) {
  const most = Math.max(...bars.map(({ count, bad }) => Math.max(count, bad)), 1);
  const size = (count: number) => (count > 0 ? Math.max((count / most) * height, 3) : 0);
  return (
    <div role="img" aria-label={label} className="flex items-end gap-px" style={{ height }}>
      {bars.map(({ startsAt, count, bad }) => (
        <span
          key={startsAt}
          title={`${formatDateTime(startsAt)}: ${[count > bad && formatCount(count), bad > 0 && `${formatCount(bad)} failed`].filter(Boolean).join(", ") || "0"}`}
          className="flex h-full min-w-px flex-1 flex-col justify-end"
        >
          <span className="bg-accent" style={{ height: Math.max(size(count) - size(bad), 0) }} />
          <span className="bg-bad" style={{ height: size(bad) }} />
          {count === 0 && bad === 0 && <span className="h-px bg-line" />}
        </span>
      ))}
    </div>
  );
}
