import { classes } from "@/ui/classes";

const ENTRIES: [words: string, look: string][] = [
  ["Model", "w-4 bg-accent"],
  ["Tools", "w-4 bg-brand"],
  ["Waiting", "hatched w-4"],
  ["Retry, restart", "w-0.75 bg-warn"],
  ["Cancelled", "w-0.75 bg-ink-3"],
];

/** What the colours of the drawing mean. */
export function TimelineLegend() {
  return (
    <ul
      aria-label="Legend"
      className="flex flex-wrap gap-x-4 gap-y-1 border-b border-line px-4 py-2 text-xs text-ink-2 sm:px-6"
    >
      {ENTRIES.map(([words, look]) => (
        <li key={words} className="flex items-center gap-1.5">
          <span aria-hidden className={classes("h-3 rounded-sm", look)} />
          {words}
        </li>
      ))}
      <li className="flex items-center gap-1.5">
        <span aria-hidden>{"//"}</span>
        Long wait, drawn shorter
      </li>
    </ul>
  );
}
