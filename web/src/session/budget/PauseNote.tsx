import { CirclePause, Play } from "lucide-react";
import { useAction } from "@/api/useAction";
import { ResumeSessionDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import { HeldBudgets } from "./HeldBudgets";
import { useSessionBudget } from "./useSessionBudget";

interface PauseNoteProps {
  sessionId: string;
  version: number;
}

/** Why the session is paused, and the way out, where the next message is written. */
export default function PauseNote({ sessionId, version }: PauseNoteProps) {
  const mayManage = useMay("BUDGETS_MANAGE");
  const { check, reload } = useSessionBudget(sessionId, version);
  const resume = useAction(ResumeSessionDocument);
  const held = (check?.budgets ?? [])
    .map(({ budget }) => budget)
    .filter(({ status }) => status === "PAUSED" || status === "EXHAUSTED");
  return (
    <section
      aria-label="Paused"
      data-paused
      className="mb-2 flex gap-2.5 rounded-lg border border-warn/25 bg-warn-soft px-3 py-2.5 text-sm text-warn"
    >
      <CirclePause size={16} className="mt-0.5 shrink-0" aria-hidden />
      <div className="min-w-0 flex-1 space-y-2">
        <p role="status">
          <span className="font-medium">Paused by a budget.</span> It is past its soft limit. Turns
          wait, and nothing is lost, until someone resumes the session, tops up the budget or raises
          its limit.
        </p>
        <HeldBudgets budgets={held} onToppedUp={reload} />
        <Problems of={resume} />
        {mayManage && (
          <div className="flex flex-wrap items-center gap-2">
            <Button
              look="primary"
              disabled={resume.busy}
              onClick={() => void resume.run({ sessionId })}
            >
              <Play size={13} aria-hidden />
              {resume.busy ? "Resuming…" : "Resume"}
            </Button>
            <span className="text-xs">Ignores the soft limit until it resets.</span>
          </div>
        )}
      </div>
    </section>
  );
}
