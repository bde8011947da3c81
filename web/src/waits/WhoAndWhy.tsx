import type { Wait } from "./wait";

/** For whom the agent works, and what in the policy asks people about the call. */
export function WhoAndWhy({ wait: { turn, reason } }: { wait: Wait }) {
  return (
    <div className="space-y-1 text-xs text-ink-2 empty:hidden">
      {turn && (
        <p>
          Turn started by <span className="font-medium text-ink">{turn.startedBy.name}</span>
        </p>
      )}
      {reason !== null && <p className="wrap-anywhere">{reason}</p>}
    </div>
  );
}
