import { Ban, Check, OctagonPause, Play, RotateCw, X } from "lucide-react";
import { Suspense } from "react";
import { lazy } from "@/api/reachable";
import { FailureRemedy } from "@/failures/FailureRemedy";
import { FailureText } from "@/failures/FailureText";
import { formatCost } from "@/money/amounts";
import { Button } from "@/ui/Button";
import { formatCount, formatDuration } from "@/ui/format";
import { DoerName } from "../DoerName";
import { RerunButton } from "../ForkButton";
import type { NoticeItem, Took, UsageTotals } from "../feed/state";
import { useChatActions } from "./actions";
import { FailureNote } from "./FailureNote";
import { ForkDivider } from "./ForkDivider";
import { canContinue, stopWords } from "./stopReasons";
import { TurnEnd } from "./TurnEnd";

type Notice = NoticeItem["notice"];
type NoticeOf<Type extends Notice["type"]> = Extract<Notice, { type: Type }>;

export function NoticeLine({ item }: { item: NoticeItem }) {
  const { notice, turnId } = item;
  switch (notice.type) {
    case "completed":
      return <CompletedLine notice={notice} turnId={turnId} />;
    case "failed":
      return (
        <>
          {!notice.told && <FailureNote failure={notice.failure} className="mt-4" />}
          <EndLine turnId={turnId} took={notice.took} failed />
        </>
      );
    case "sealed":
      return <SealedNote notice={notice} turnId={turnId} />;
    case "cancelled":
      return (
        <Line icon={<Ban size={12} aria-hidden />} turnId={turnId}>
          Stopped by <DoerName by={notice.by} />
          {notice.reason && `: ${notice.reason}`}
          {notice.took && ` · ${tookWords(notice.took)}`}
        </Line>
      );
    case "recovered":
      return (
        <Line icon={<RotateCw size={12} aria-hidden />}>
          The server stopped{notice.recoveries > 1 && ` (${notice.recoveries} times)`};{" "}
          {notice.policy === "FINALIZE"
            ? "the text so far was kept"
            : "the answer was started again"}
        </Line>
      );
    case "decided":
      return <DecidedLine notice={notice} />;
    case "forked":
      return <ForkDivider fromSessionId={notice.fromSessionId} />;
  }
}

interface LineProps {
  icon?: React.ReactNode;
  /** The turn that this is the end of. */
  turnId?: string | null;
  children: React.ReactNode;
}

function Line({ icon, turnId = null, children }: LineProps) {
  return (
    <div className="mt-3 flex min-h-6 flex-wrap items-center gap-x-1.5 text-xs text-ink-3 tabular-nums">
      {icon}
      <p className="min-w-0 wrap-anywhere">{children}</p>
      <TurnEnd turnId={turnId} />
    </div>
  );
}

// Few sessions are ever stopped by a budget.
const SealedByBudget = lazy(() => import("../budget/SealedByBudget"));

function SealedNote({ notice, turnId }: { notice: NoticeOf<"sealed">; turnId: string | null }) {
  const { sessionId, latestTurnId, budgetVersion } = useChatActions();
  return (
    <>
      <div
        data-sealed={notice.stopReason}
        className="mt-4 flex gap-2.5 rounded-lg border border-warn/25 bg-warn-soft px-3 py-2.5 text-sm text-warn"
      >
        <OctagonPause size={16} className="mt-0.5 shrink-0" aria-hidden />
        <div className="min-w-0 wrap-anywhere">
          <div className="font-medium">The turn was stopped: {stopWords(notice.stopReason)}</div>
          {(!notice.told || notice.stopReason === "BUDGET") && (
            <>
              <FailureText failure={notice.failure} /> <FailureRemedy code={notice.failure.code} />
            </>
          )}
          {canContinue(notice.stopReason) && <ContinueButton turnId={turnId} />}
          {notice.stopReason === "BUDGET" && turnId === latestTurnId && (
            <Suspense>
              <SealedByBudget
                sessionId={sessionId}
                version={budgetVersion}
                failure={notice.failure}
              >
                <ContinueButton turnId={turnId} />
              </SealedByBudget>
            </Suspense>
          )}
        </div>
      </div>
      <EndLine turnId={turnId} took={notice.took} />
    </>
  );
}

interface EndLineProps {
  turnId: string | null;
  took: Took | null;
  failed?: boolean;
}

/** What a turn took that says why it ended in a note of its own, and what can be done at its end. */
function EndLine({ turnId, took, failed = false }: EndLineProps) {
  const { mayWrite } = useChatActions();
  return (
    <div className="mt-1 flex min-h-6 flex-wrap items-center gap-x-1.5 text-xs text-ink-3 tabular-nums">
      {took && <p className="pr-1.5">{tookWords(took)}</p>}
      {failed && mayWrite && turnId !== null && (
        <RerunButton
          turnId={turnId}
          label="Retry in a fork"
          className="-ml-1.5 h-6 px-1.5 text-xs font-normal text-ink-3"
        />
      )}
      <TurnEnd turnId={turnId} />
    </div>
  );
}

/** A turn that was stopped on purpose goes on when the user says so; only the latest one can. */
function ContinueButton({ turnId }: { turnId: string | null }) {
  const { latestTurnId, mayWrite, send } = useChatActions();
  if (!mayWrite || turnId === null || turnId !== latestTurnId) return null;
  return (
    <div className="mt-2">
      <Button onClick={() => send("Continue.")}>
        <Play size={13} aria-hidden />
        Continue
      </Button>
    </div>
  );
}

function CompletedLine({
  notice,
  turnId,
}: {
  notice: NoticeOf<"completed">;
  turnId: string | null;
}) {
  const { stopReason, durationMs, timeToFirstTokenMs, iterations, usage } = notice;
  const parts = [
    stopReason === "END_TURN" ? null : `Ended: ${stopWords(stopReason)}`,
    formatDuration(durationMs),
    timeToFirstTokenMs === null ? null : `first token ${formatDuration(timeToFirstTokenMs)}`,
    iterations > 1 ? `${iterations} steps` : null,
    usageWords(usage),
  ];
  return <Line turnId={turnId}>{parts.filter((part) => part !== null).join(" · ")}</Line>;
}

function tookWords({ durationMs, usage }: Took): string {
  const used = usage.inputTokens + usage.outputTokens > 0;
  return [formatDuration(durationMs), ...(used ? [usageWords(usage)] : [])].join(" · ");
}

function usageWords({ inputTokens, outputTokens, costUsd }: UsageTotals): string {
  return `${formatCount(inputTokens + outputTokens)} tokens · ${formatCost(costUsd)}`;
}

const OUTCOMES: Record<string, string> = {
  APPROVED: "approved",
  PENDING: "approved (more approvals needed)",
  DENIED: "denied",
};

function DecidedLine({ notice }: { notice: NoticeOf<"decided"> }) {
  const { toolName, outcome, approve, note, edited, by } = notice;
  const icon = approve ? <Check size={12} aria-hidden /> : <X size={12} aria-hidden />;
  const words = OUTCOMES[outcome];
  return (
    <Line icon={icon}>
      {words === undefined ? (
        outcome === "EXPIRED" ? (
          `The approval of ${toolName} expired`
        ) : (
          `${toolName} ended before anyone decided`
        )
      ) : (
        <>
          {toolName} was {words}
          {edited && ", with edited arguments,"} by <DoerName by={by} />
        </>
      )}
      {note && `: ${note}`}
    </Line>
  );
}
