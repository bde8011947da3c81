import { useEffect, useRef, useState } from "react";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { formatDateTime, formatDuration, formatPreciseClock } from "@/ui/format";
import type { Mark, Span, SpanUsage, TimelineTurn } from "./model";
import { rowsOf } from "./rows";
import { costWords, spanState, statusWords, tokenWords, tookWords, turnTitle } from "./words";

interface TurnTableProps {
  turn: TimelineTurn;
  /** The line that is chosen in the drawing; null for the turn's own. */
  spanId: string | null;
  now: number;
}

/** A turn can have thousands of calls; the rest is one click away. */
const LINES_AT_FIRST = 200;

/** One turn in words and numbers: all that the drawing shows of it, and what it has no room for. */
export function TurnTable({ turn, spanId, now }: TurnTableProps) {
  const [limit, setLimit] = useState(LINES_AT_FIRST);
  const spans = rowsOf([turn]).flatMap(({ span }) => (span ? [span] : []));
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    if (spanId === null) return;
    body.current?.querySelector("[data-chosen]")?.scrollIntoView({ block: "nearest" });
  }, [spanId]);
  return (
    <section
      aria-label={turnTitle(turn)}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
      tabIndex={0}
      data-moves-sideways
      className="min-h-36 flex-[2] overflow-auto border-t border-line-strong focus-visible:-outline-offset-2"
    >
      <div className="px-4 pt-2.5 pb-1 sm:px-6">
        <h2 className="text-sm font-medium wrap-anywhere">{turnTitle(turn)}</h2>
        <p className="text-xs text-ink-2">{turnFacts(turn, now).join(" · ")}</p>
        <Notes marks={turn.marks} />
      </div>
      <table className="w-full min-w-[40rem] text-left text-xs">
        <thead className="sticky top-0 bg-canvas text-ink-3">
          <tr>
            <Head className="pl-4 sm:pl-6">Step</Head>
            <Head>Started</Head>
            <Head right>Took</Head>
            <Head right>First token</Head>
            <Head right>Tokens</Head>
            <Head right>Cost</Head>
            <Head className="pr-4 sm:pr-6">Notes</Head>
          </tr>
        </thead>
        <tbody ref={body}>
          {spans.slice(0, limit).map((span) => (
            <SpanRow key={span.id} span={span} chosen={span.id === spanId} now={now} />
          ))}
        </tbody>
      </table>
      {spans.length > limit && (
        <div className="flex justify-center p-2">
          <Button look="ghost" onClick={() => setLimit(limit + LINES_AT_FIRST)}>
            Show more ({spans.length - limit})
          </Button>
        </div>
      )}
    </section>
  );
}

function turnFacts(turn: TimelineTurn, now: number): string[] {
  const queued = turn.queuedAt === null ? 0 : turn.start - turn.queuedAt;
  const { firstTokenMs } = turn.usage;
  const tokens = tokenWords(turn.usage);
  return [
    statusWords(turn),
    `started ${formatDateTime(turn.start)}`,
    queued > 0 ? `after ${formatDuration(queued)} in the queue` : "",
    `took ${tookWords(turn, now)}`,
    firstTokenMs === null ? "" : `first token ${formatDuration(firstTokenMs)}`,
    tokens && `${tokens} tokens`,
    costWords(turn.usage),
    turn.usage.estimated ? "partly estimated" : "",
    turn.inherited ? "from the session this one was forked from" : "",
  ].filter((fact) => fact !== "");
}

interface SpanRowProps {
  span: Span;
  chosen: boolean;
  now: number;
}

function SpanRow({ span, chosen, now }: SpanRowProps) {
  const { usage } = span;
  return (
    <tr
      data-chosen={chosen ? "" : undefined}
      className={classes("border-t border-line align-top", chosen && "bg-hover")}
    >
      <th
        scope="row"
        className={classes(
          "max-w-72 truncate py-1.5 pr-4 font-normal",
          span.depth === 1 ? "pl-4 sm:pl-6" : "pl-8 sm:pl-10",
        )}
      >
        {span.label}
      </th>
      <Cell>{formatPreciseClock(span.start)}</Cell>
      <Cell right>{tookWords(span, now)}</Cell>
      <Cell right>{firstTokenWords(usage)}</Cell>
      <Cell right>{tokenWords(usage)}</Cell>
      <Cell right>{costWords(usage)}</Cell>
      <td className="py-1.5 pr-4 sm:pr-6">
        {span.state !== "ok" && <div>{spanState(span)}</div>}
        {usage?.estimated && <div>Usage is estimated.</div>}
        <Notes marks={span.marks} />
      </td>
    </tr>
  );
}

function Notes({ marks }: { marks: readonly Mark[] }) {
  return marks.map(({ kind, at, words }) => (
    <div key={`${kind}:${at}:${words}`} className="text-xs text-ink-2 wrap-anywhere">
      {words}
    </div>
  ));
}

function firstTokenWords(usage: SpanUsage | null): string {
  const ms = usage?.firstTokenMs;
  return ms === null || ms === undefined ? "" : formatDuration(ms);
}

interface CellProps {
  right?: boolean;
  className?: string;
  children: React.ReactNode;
}

function Head({ right, className, children }: CellProps) {
  return (
    <th
      scope="col"
      className={classes("py-1.5 pr-4 font-medium", right && "text-right", className)}
    >
      {children}
    </th>
  );
}

function Cell({ right, children }: CellProps) {
  return (
    <td className={classes("py-1.5 pr-4 whitespace-nowrap tabular-nums", right && "text-right")}>
      {children}
    </td>
  );
}
