import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { GitFork, Link as LinkIcon, RotateCcw } from "lucide-react";
import { Suspense, useState } from "react";
import { lazy } from "@/api/reachable";
import { changed } from "@/shell/search";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Fact } from "@/ui/Fact";
import { formatCount, formatDuration, formatPreciseClock } from "@/ui/format";
import { Toggles } from "@/ui/Toggles";
import { useCopy } from "@/ui/useCopy";
import { FailureNote } from "../chat/FailureNote";
import { DoerName } from "../DoerName";
import { feedbackWords } from "../feed/feedback";
import { INSPECTED, type Inspected } from "../search";
import { InputOf } from "./InputOf";
import type { Mark, Span, SpanUsage, TimelineTurn } from "./model";
import { OutputOf } from "./OutputOf";
import type { TimelineRow } from "./rows";
import { Block } from "./Section";
import {
  costWords,
  kindTotals,
  spanState,
  statusWords,
  tokenWords,
  tookWords,
  turnFacts,
  turnTitle,
} from "./words";

const ForkDialog = lazy(() => import("./ForkDialog"));
const RerunDialog = lazy(() => import("./RerunDialog"));

interface InspectorProps {
  sessionId: string;
  row: TimelineRow;
  now: number;
  /** Keeps what is shown, which else gives way to the latest turn. */
  onHold: () => void;
}

const WORDS: Record<Inspected, string> = {
  input: "Input",
  output: "Output",
  usage: "Usage",
  timing: "Timing",
  raw: "Raw",
};

/** All that is known of one call, or of a turn as a whole. */
export function Inspector({ sessionId, row: { turn, span }, now, onHold }: InspectorProps) {
  const { part } = useSearch({ from: "/app/sessions/$sessionId" });
  const navigate = useNavigate({ from: "/sessions/$sessionId" });
  const parts = span ? partsOf(span) : [];
  // What came of a call that failed says most about it.
  const first = parts.find((each) => each === (span?.state === "failed" ? "output" : "input"));
  const shown = parts.find((each) => each === part) ?? first ?? parts[0];
  const { failure } = span ?? turn;
  return (
    <section
      aria-label={span ? span.label : turnTitle(turn)}
      className="flex min-h-0 flex-1 flex-col border-t border-line-strong xl:w-[22rem] 2xl:w-[25rem] xl:flex-none xl:border-t-0 xl:border-l xl:border-line"
    >
      <div className="space-y-1.5 px-4 pt-2.5 pb-2 sm:px-6 xl:px-4">
        <h2 className="text-sm font-medium wrap-anywhere">
          {span ? span.label : turnTitle(turn)}{" "}
          {span && <span className="font-normal text-ink-3">{span.detail}</span>}
        </h2>
        <Actions sessionId={sessionId} turn={turn} id={span?.id ?? turn.id} onHold={onHold} />
        {span && (
          <Toggles
            label="Parts of the call"
            options={parts}
            words={(each) => WORDS[each]}
            pressed={(each) => each === shown}
            onPress={(each) =>
              void navigate({ search: (search) => changed(search, { part: each }), replace: true })
            }
          />
        )}
      </div>
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
        tabIndex={0}
        className="min-h-0 flex-1 space-y-3 overflow-y-auto border-t border-line px-4 py-3 focus-visible:-outline-offset-2 sm:px-6 xl:px-4"
      >
        {failure && <FailureNote failure={failure} />}
        {!span && <TurnFacts turn={turn} now={now} />}
        {span && shown === "input" && <InputOf turn={turn} span={span} />}
        {span && shown === "output" && <OutputOf turn={turn} span={span} />}
        {span && shown === "usage" && <Usage usage={span.usage} />}
        {span && shown === "timing" && <Timing span={span} now={now} />}
        {span && shown === "raw" && <Raw span={span} />}
      </div>
    </section>
  );
}

function partsOf({ kind }: Span): Inspected[] {
  return INSPECTED.filter((part) => {
    if (part === "usage") return kind === "model";
    return kind !== "wait" || (part !== "input" && part !== "output");
  });
}

interface ActionsProps extends Pick<InspectorProps, "sessionId" | "onHold"> {
  turn: TimelineTurn;
  id: string;
}

function Actions({ sessionId, turn, id, onHold }: ActionsProps) {
  const router = useRouter();
  // The address may name nothing, or what a filter hides.
  const link = () => {
    const search = changed(router.state.location.search, { call: id });
    return window.location.origin + router.buildLocation({ to: ".", search }).href;
  };
  const mayWrite = useMay("SESSIONS_WRITE");
  const { copied, copy } = useCopy();
  const [asked, setAsked] = useState<"fork" | "rerun" | null>(null);
  const ask = (what: "fork" | "rerun") => {
    onHold();
    setAsked(what);
  };
  const look = "-ml-1.5 h-6 px-1.5 text-xs font-normal text-ink-3";
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button look="ghost" className={look} onClick={() => copy(link())}>
        <LinkIcon size={13} aria-hidden />
        {copied ? "Copied" : "Copy link"}
      </Button>
      {mayWrite && turn.end !== null && (
        <Button look="ghost" className={look} onClick={() => ask("fork")}>
          <GitFork size={13} aria-hidden />
          Fork after this turn
        </Button>
      )}
      {mayWrite && (
        <Button look="ghost" className={look} onClick={() => ask("rerun")}>
          <RotateCcw size={13} aria-hidden />
          Run this turn again
        </Button>
      )}
      <Suspense>
        {asked === "fork" && (
          <ForkDialog sessionId={sessionId} turnId={turn.id} onClose={() => setAsked(null)} />
        )}
        {asked === "rerun" && <RerunDialog turnId={turn.id} onClose={() => setAsked(null)} />}
      </Suspense>
    </div>
  );
}

function TurnFacts({ turn, now }: { turn: TimelineTurn; now: number }) {
  return (
    <>
      <p className="text-sm text-ink-2">{turnFacts(turn, now).join(" · ")}</p>
      <Notes marks={turn.marks} />
      <dl className="card divide-y divide-line text-sm">
        <Fact label="Outcome">{statusWords(turn)}</Fact>
        {kindTotals(turn, now).map(({ words, count, took }) => (
          <Fact key={words} label={words}>
            {formatCount(count)} · {formatDuration(took)}
          </Fact>
        ))}
        <Fact label="Tokens">{tokenWords(turn.usage) || "None"}</Fact>
        <Fact label="Cost">{costWords(turn.usage) || "None"}</Fact>
        {turn.feedback.map((each) => (
          <Fact key={each.by.id} label="Feedback">
            {feedbackWords(each)} · <DoerName by={each.by} />
          </Fact>
        ))}
      </dl>
    </>
  );
}

function Usage({ usage }: { usage: SpanUsage | null }) {
  if (!usage) return <p className="text-sm text-ink-3">Nothing was used yet.</p>;
  const counts: [string, number][] = [
    ["Input tokens", usage.inputTokens],
    ["Read from cache", usage.cacheReadTokens],
    ["Written to cache", usage.cacheWriteTokens],
    ["Output tokens", usage.outputTokens],
    ["Reasoning tokens", usage.reasoningTokens],
  ];
  return (
    <>
      <dl className="card divide-y divide-line text-sm">
        {counts.map(([words, count]) => (
          <Fact key={words} label={words}>
            {formatCount(count)}
          </Fact>
        ))}
        <Fact label="Cost">{costWords(usage) || "None"}</Fact>
      </dl>
      {usage.estimated && (
        <p className="text-xs text-ink-2">
          The server stopped during a call, so that a part of this is an estimate.
        </p>
      )}
    </>
  );
}

function Timing({ span, now }: { span: Span; now: number }) {
  const firstToken = span.usage?.firstTokenMs ?? null;
  return (
    <>
      <dl className="card divide-y divide-line text-sm">
        <Fact label="State">
          <Badge>{spanState(span)}</Badge>
        </Fact>
        <Fact label="Started">{formatPreciseClock(span.start)}</Fact>
        <Fact label="Ended">{span.end === null ? "Not yet" : formatPreciseClock(span.end)}</Fact>
        <Fact label="Took">{tookWords(span, now) || "No time"}</Fact>
        {firstToken !== null && <Fact label="First token">{formatDuration(firstToken)}</Fact>}
      </dl>
      <Notes marks={span.marks} />
    </>
  );
}

function Raw({ span }: { span: Span }) {
  return span.events.map(({ id, kind, sequence, data }) => (
    <Block key={id} title={`${sequence} · ${kind}`} value={data} />
  ));
}

export function Notes({ marks }: { marks: readonly Mark[] }) {
  return marks.map(({ kind, at, words }) => (
    <p key={`${kind}:${at}:${words}`} className="text-xs text-ink-2 wrap-anywhere">
      {words}
    </p>
  ));
}
