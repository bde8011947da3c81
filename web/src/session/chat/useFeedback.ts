import { useCallback, useMemo, useState } from "react";
import { useViewer } from "@/shell/viewer";
import type { Feedback } from "../feed/feedback";

type Said = Readonly<Record<string, readonly Feedback[]>>;
export type Say = Pick<Feedback, "rating" | "comment">;

/** What the server has taken of the viewer for a turn; null where it was taken back. */
export interface Taken {
  /** What was known of the turn when it was sent: what is known later holds it. */
  known: readonly Feedback[] | undefined;
  say: Say | null;
}

/** What is said of turns, with what the viewer has said of them as soon as the server has it: the event comes later. */
export function useFeedback(known: Said) {
  const { user } = useViewer();
  const id = user?.id ?? null;
  const [taken, setTaken] = useState<Readonly<Record<string, Taken>>>({});
  const feedback = useMemo(() => withTaken(known, taken, id), [known, taken, id]);
  const onRated = useCallback(
    (turnId: string, say: Say | null) =>
      setTaken((before) => ({ ...before, [turnId]: { known: known[turnId], say } })),
    [known],
  );
  return { feedback, onRated };
}

export function withTaken(
  known: Said,
  taken: Readonly<Record<string, Taken>>,
  id: string | null,
): Said {
  const early = Object.entries(taken)
    .filter(([turnId, each]) => each.known === known[turnId])
    .map(([turnId, { say }]) => {
      const others = (known[turnId] ?? []).filter(({ by }) => by.id !== id);
      return [turnId, say ? [...others, { by: { kind: "USER", id }, ...say }] : others];
    });
  return early.length === 0 ? known : { ...known, ...Object.fromEntries(early) };
}
