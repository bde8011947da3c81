import { type ReactNode, useState } from "react";
import { useViewer } from "@/shell/viewer";
import { DecideAllDialog, DecideTurn, type Decision } from "./DecideTurn";
import { decidableByTurn } from "./ofTurns";
import { WaitCard } from "./WaitCard";
import type { Wait } from "./wait";

interface WaitListProps<Each extends Wait> {
  label: string;
  className: string;
  waits: readonly Each[];
  onResolved: (wait: Each) => void;
  /** Where a wait belongs, on pages of many sessions. */
  originOf?: (wait: Each) => ReactNode;
}

/** Cards of what waits. Before the first of several approvals of a turn stands what decides them all. */
export function WaitList<Each extends Wait>(props: WaitListProps<Each>) {
  const { label, className, waits, onResolved, originOf } = props;
  const turns = decidableByTurn(waits, useViewer().user?.id);
  // It outlives the cards that it takes away.
  const [asked, setAsked] = useState<{ decision: Decision; waits: readonly Each[] } | null>(null);
  return (
    <>
      <ul aria-label={label} className={className}>
        {waits.map((wait) => {
          const together = wait.turn ? turns.get(wait.turn.id) : undefined;
          return (
            <li key={wait.id} className="space-y-3">
              {together?.[0] === wait && (
                <DecideTurn
                  count={together.length}
                  onAsk={(decision) => setAsked({ decision, waits: together })}
                />
              )}
              <WaitCard wait={wait} onResolved={() => onResolved(wait)}>
                {originOf?.(wait)}
              </WaitCard>
            </li>
          );
        })}
      </ul>
      {asked && (
        <DecideAllDialog {...asked} onDecided={onResolved} onClose={() => setAsked(null)} />
      )}
    </>
  );
}
