import type { Wait } from "./wait";

/**
 * The approvals of each turn that the viewer can decide together, where there are several. Payments are left out: what is
 * paid is decided one by one. So are those with a decision of the viewer.
 */
export function decidableByTurn<Each extends Wait>(
  waits: readonly Each[],
  viewerId: string | undefined,
): Map<string, Each[]> {
  const turns = new Map<string, Each[]>();
  for (const wait of waits) {
    const mine = wait.decisions.some(({ actor }) => actor.id !== null && actor.id === viewerId);
    const decidable =
      wait.kind === "APPROVAL" && wait.viewerMayResolve && wait.payment === null && !mine;
    if (!decidable || !wait.turn) continue;
    turns.set(wait.turn.id, [...(turns.get(wait.turn.id) ?? []), wait]);
  }
  return new Map([...turns].filter(([, each]) => each.length > 1));
}
