import { useEffect, useRef, useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { CancelTurnDocument } from "@/gql/graphql";

interface Stop {
  stopping: boolean;
  /** Why it could not be stopped. */
  problem: string | null;
  stop: () => void;
}

/**
 * Cancels the active turn. It counts as stopping from the moment at which that is asked for until an event says how it
 * has ended, which may also be by itself.
 */
export function useStop(
  activeTurnId: string | null,
  /** A turn that somebody had asked to stop before. */
  stoppingTurnId: string | null,
  mayWrite: boolean,
): Stop {
  const [, cancel] = useMutation(CancelTurnDocument);
  const [askedFor, setAskedFor] = useState<string | null>(null);
  const [problem, setProblem] = useState<{ turnId: string; text: string } | null>(null);
  const stopping =
    activeTurnId !== null && (askedFor === activeTurnId || stoppingTurnId === activeTurnId);

  const stop = async () => {
    if (activeTurnId === null || stopping) return;
    setAskedFor(activeTurnId);
    setProblem(null);
    const { data, error } = await cancel({ turnId: activeTurnId });
    const refusal = data?.cancelTurn.userErrors[0];
    const text = refusal?.message ?? (error ? describeError(error) : null);
    if (text === null) return;
    setAskedFor(null);
    setProblem({ turnId: activeTurnId, text });
  };

  const latest = useRef(stop);
  latest.current = stop;
  const active = activeTurnId !== null && mayWrite;
  useEffect(() => {
    if (!active) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "." || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      void latest.current();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [active]);

  return {
    stopping,
    // The next turn has nothing to do with what went wrong with this one.
    problem: problem?.turnId === activeTurnId ? (problem?.text ?? null) : null,
    stop: () => void stop(),
  };
}
