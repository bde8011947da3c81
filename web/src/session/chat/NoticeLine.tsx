import { OctagonPause, RotateCw } from "lucide-react";
import { FailureRemedy } from "@/failures/FailureRemedy";
import { FailureText } from "@/failures/FailureText";
import type { StopReason } from "@/gql/graphql";
import { formatCost, formatCount, formatDuration } from "@/ui/format";
import type { NoticeItem } from "../feed/state";
import { FailureNote } from "./FailureNote";

export function NoticeLine({ item }: { item: NoticeItem }) {
  const { notice } = item;
  switch (notice.type) {
    case "completed":
      return <CompletedLine {...notice} />;
    case "failed":
      return notice.told ? (
        <p className="mt-3 text-xs text-ink-3">The turn ended with this failure.</p>
      ) : (
        <FailureNote failure={notice.failure} />
      );
    case "sealed":
      return (
        <div className="mt-4 flex gap-2.5 rounded-lg border border-warn/25 bg-warn-soft px-3 py-2.5 text-sm text-warn">
          <OctagonPause size={16} className="mt-0.5 shrink-0" aria-hidden />
          <div className="min-w-0 wrap-anywhere">
            <div className="font-medium">The turn was stopped: {reason(notice.stopReason)}</div>
            <FailureText failure={notice.failure} /> <FailureRemedy code={notice.failure.code} />
          </div>
        </div>
      );
    case "recovered":
      return (
        <p className="mt-3 flex items-center gap-1.5 text-xs text-ink-3">
          <RotateCw size={12} aria-hidden />
          Taken over by another runner
          {notice.recoveries > 1 && ` (${notice.recoveries} times)`}
        </p>
      );
  }
}

type Completed = Extract<NoticeItem["notice"], { type: "completed" }>;

function CompletedLine({
  stopReason,
  durationMs,
  timeToFirstTokenMs,
  iterations,
  usage,
}: Completed) {
  const tokens = usage.inputTokens + usage.outputTokens;
  const parts = [
    stopReason === "END_TURN" ? null : `Ended: ${reason(stopReason)}`,
    formatDuration(durationMs),
    timeToFirstTokenMs === null ? null : `first token ${formatDuration(timeToFirstTokenMs)}`,
    iterations > 1 ? `${iterations} steps` : null,
    `${formatCount(tokens)} tokens`,
    formatCost(usage.costUsd),
  ];
  return (
    <p className="mt-3 text-xs text-ink-3 tabular-nums">
      {parts.filter((part) => part !== null).join(" · ")}
    </p>
  );
}

function reason(stopReason: StopReason): string {
  return stopReason.toLowerCase().replaceAll("_", " ");
}
