import { GitFork, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { type Attempt, problemOf, useAction } from "@/api/useAction";
import { ForkSessionDocument, RerunTurnDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { useMade } from "./useMade";

interface ForkButtonProps {
  sessionId: string;
  /** The fork ends with this turn; null for all of the session. */
  throughTurnId: string | null;
  label: string;
  className?: string;
}

/** Makes a session with the same history, and goes there. */
export function ForkButton({ sessionId, throughTurnId, label, className }: ForkButtonProps) {
  const fork = useAction(ForkSessionDocument);
  const made = useMade();
  const make = () =>
    made(`${throughTurnId}`, (idempotencyKey) =>
      fork.run({ input: { sessionId, throughTurnId, idempotencyKey } }),
    );
  return (
    <Making attempt={fork} onMake={() => void make()} className={className}>
      <GitFork size={13} aria-hidden />
      {fork.busy ? "Forking…" : label}
    </Making>
  );
}

interface RerunButtonProps {
  turnId: string;
  label: string;
  className: string;
}

/** Answers the message of a turn again in a fork that ends before it, and goes there. */
export function RerunButton({ turnId, label, className }: RerunButtonProps) {
  const rerun = useAction(RerunTurnDocument);
  const made = useMade();
  const make = () =>
    made(turnId, (idempotencyKey) => rerun.run({ input: { turnId, idempotencyKey } }));
  return (
    <Making attempt={rerun} onMake={() => void make()} className={className}>
      <RotateCcw size={13} aria-hidden />
      {rerun.busy ? "Starting…" : label}
    </Making>
  );
}

interface MakingProps {
  attempt: Attempt;
  onMake: () => void;
  className: string | undefined;
  children: ReactNode;
}

/** A button that makes a session, and what became of it when that failed. */
function Making({ attempt, onMake, className, children }: MakingProps) {
  const problem = problemOf(attempt);
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Button look="ghost" className={className ?? ""} disabled={attempt.busy} onClick={onMake}>
        {children}
      </Button>
      {problem && (
        <span role="alert" className="text-xs text-bad wrap-anywhere">
          {problem}
        </span>
      )}
    </span>
  );
}
