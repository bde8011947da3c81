import { useNavigate } from "@tanstack/react-router";
import { GitFork, RotateCcw } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { type CombinedError, useMutation } from "urql";
import { describeError } from "@/api/errors";
import { newIdempotencyKey } from "@/api/idempotency";
import { ForkSessionDocument, RerunTurnDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";

interface ForkButtonProps {
  sessionId: string;
  /** The fork ends with this turn; null for all of the session. */
  throughTurnId: string | null;
  label: string;
  className?: string;
}

/** Makes a session with the same history, and goes there. */
export function ForkButton({ sessionId, throughTurnId, label, className }: ForkButtonProps) {
  const [{ fetching, error }, fork] = useMutation(ForkSessionDocument);
  const run = async (idempotencyKey: string) => {
    const { data } = await fork({ input: { sessionId, throughTurnId, idempotencyKey } });
    return data?.forkSession;
  };
  return (
    <Making run={run} fetching={fetching} error={error} className={className}>
      <GitFork size={13} aria-hidden />
      {fetching ? "Forking…" : label}
    </Making>
  );
}

/** Answers the message of a turn again in a fork that ends before it, and goes there. */
export function RerunButton({ turnId, className }: { turnId: string; className: string }) {
  const [{ fetching, error }, rerun] = useMutation(RerunTurnDocument);
  const run = async (idempotencyKey: string) => {
    const { data } = await rerun({ input: { turnId, idempotencyKey } });
    return data?.rerunTurn;
  };
  return (
    <Making run={run} fetching={fetching} error={error} className={className}>
      <RotateCcw size={13} aria-hidden />
      {fetching ? "Starting…" : "Run again"}
    </Making>
  );
}

interface MakingProps {
  /** Gives nothing when there was no answer. */
  run: (idempotencyKey: string) => Promise<Made | undefined>;
  fetching: boolean;
  error: CombinedError | undefined;
  className: string | undefined;
  children: ReactNode;
}

interface Made {
  session: { id: string } | null;
  userErrors: readonly { message: string }[];
}

/** A button that makes a session and goes there. */
function Making({ run, fetching, error, className, children }: MakingProps) {
  const navigate = useNavigate();
  const [refusal, setRefusal] = useState<string | null>(null);
  // A second try after a lost answer must give the same session.
  const key = useRef(newIdempotencyKey());

  const make = async () => {
    const made = await run(key.current);
    setRefusal(made?.userErrors[0]?.message ?? null);
    if (!made) return;
    key.current = newIdempotencyKey();
    if (!made.session) return;
    void navigate({ to: "/sessions/$sessionId", params: { sessionId: made.session.id } });
  };

  const problem = refusal ?? (error ? describeError(error) : null);
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Button
        look="ghost"
        className={className ?? ""}
        disabled={fetching}
        onClick={() => void make()}
      >
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
