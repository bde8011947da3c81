import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Bars } from "@/charts/Bars";
import { barsOf, type Period } from "@/failures/period";
import type { PercentileFieldsFragment, TurnFiguresFragment } from "@/gql/graphql";
import { Cost } from "@/money/Amount";
import { changed } from "@/shell/search";
import { classes } from "@/ui/classes";
import { formatCount, formatToMinute } from "@/ui/format";
import { ExactTime } from "@/ui/Time";
import { Toggles } from "@/ui/Toggles";
import { errorRate, measuredWords, percentileWords } from "./figures";
import { Section } from "./Section";
import type { HomeSearch } from "./search";

const RANGES = [
  [undefined, "24 hours"],
  ["7d", "7 days"],
] as const satisfies readonly (readonly [HomeSearch["range"], string])[];

interface OperationsProps {
  figures: TurnFiguresFragment;
  period: Period;
  /** The figures are those of another period. */
  loading: boolean;
}

/** How the turns of the period went, and by the hour. */
export function Operations({ figures, period, loading }: OperationsProps) {
  const { range } = useSearch({ from: "/app/" });
  const navigate = useNavigate({ from: "/" });
  const { turns, failedTurns, hours, duration, timeToFirstToken, usage, countedFrom } = figures;
  const bars = barsOf(
    period,
    hours.map((hour) => ({ startsAt: hour.startsAt, count: hour.turns, bad: hour.failedTurns })),
  );
  const most = Math.max(...bars.map(({ count }) => count));
  return (
    <Section
      title="Turns"
      aside={
        <Toggles
          label="Period"
          options={RANGES}
          words={([, label]) => label}
          pressed={([each]) => each === range}
          onPress={([each]) =>
            void navigate({ search: (old) => changed(old, { range: each }), replace: true })
          }
        />
      }
    >
      <div className={classes(loading && "invisible")}>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-4 px-3.5 py-3 sm:grid-cols-3 lg:grid-cols-5">
          <Figure label="Turns" name="turns">
            {formatCount(turns)}
          </Figure>
          <Figure
            label="Error rate"
            name="error-rate"
            more={
              <Link to="/failures" search={{ range: range === undefined ? "24h" : undefined }}>
                {formatCount(failedTurns)} failed or stopped
              </Link>
            }
          >
            <span className={failedTurns > 0 ? "text-bad" : undefined}>
              {errorRate({ turns, failedTurns }) ?? "–"}
            </span>
          </Figure>
          <Times label="Duration" name="duration" times={duration} />
          <Times label="Time to first token" name="first-token" times={timeToFirstToken} />
          {usage && (
            <Figure label="Spend" name="spend" more={<Link to="/usage">Usage</Link>}>
              <Cost usd={usage.costUsd} />
            </Figure>
          )}
        </dl>
        <div className="px-3.5 pb-3">
          <Bars
            label={`Turns per hour, peak ${formatCount(most)}; ${formatCount(failedTurns)} failed in the period.`}
            bars={bars}
            height={72}
          />
          <p className="mt-1 flex justify-between text-xs text-ink-3">
            <time dateTime={period.from}>{formatToMinute(period.from)}</time>
            <span className="hidden sm:inline">Turns per hour · peak {formatCount(most)}</span>
            <span>now</span>
          </p>
          {countedFrom !== null && (
            <p className="mt-1 text-xs text-ink-3">
              Only the newest failures are counted, since <ExactTime time={countedFrom} />.
            </p>
          )}
        </div>
      </div>
    </Section>
  );
}

interface FigureProps {
  label: string;
  name: string;
  children: ReactNode;
  more?: ReactNode;
  title?: string | undefined;
}

function Figure({ label, name, children, more, title }: FigureProps) {
  return (
    <div data-figure={name} title={title}>
      <dt className="text-xs text-ink-3">{label}</dt>
      <dd>
        <span className="block text-lg font-semibold tabular-nums">{children}</span>
        <span className="text-xs text-ink-3 tabular-nums [&>a]:rounded [&>a]:hover:underline">
          {more}
        </span>
      </dd>
    </div>
  );
}

interface TimesProps {
  label: string;
  name: string;
  times: PercentileFieldsFragment | null;
}

/** What half of the turns took at most, and what 95 of 100 did. */
function Times({ label, name, times }: TimesProps) {
  return (
    <Figure
      label={`${label}, p50`}
      name={name}
      title={measuredWords(times)}
      more={<>p95 {percentileWords(times, 95)}</>}
    >
      {percentileWords(times, 50)}
    </Figure>
  );
}
