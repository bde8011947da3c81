import { useState } from "react";
import { useAction } from "@/api/useAction";
import { DecideApprovalDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { decisionOf } from "./decisions";
import type { Wait } from "./wait";

interface DecideTurnProps {
  /** The approvals of one turn. */
  waits: readonly Wait[];
  /** One of them was decided, and the server knows. */
  onDecided: (wait: Wait) => void;
}

/** Decides about all calls of a turn that wait for approval, once the viewer has confirmed it. */
export function DecideTurn({ waits, onDecided }: DecideTurnProps) {
  const [asking, setAsking] = useState<"Approve" | "Deny" | null>(null);
  // Those that were there when the dialog opened: nothing is decided that came after it.
  const [asked, setAsked] = useState(waits);
  const decide = useAction(DecideApprovalDocument);
  const ask = (what: "Approve" | "Deny") => {
    setAsked(waits);
    setAsking(what);
  };
  const decideAll = async () => {
    for (const wait of asked) {
      // The first that is refused stops it, and says why. What was decided before stays decided.
      if (!(await decide.run({ input: decisionOf(wait, asking === "Approve") }))) return false;
      setAsked((left) => left.filter(({ id }) => id !== wait.id));
      onDecided(wait);
    }
    return true;
  };
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm">
      <span className="flex-1 text-ink-2">{waits.length} calls of one turn wait for approval</span>
      <Button onClick={() => ask("Approve")}>Approve all…</Button>
      <Button onClick={() => ask("Deny")}>Deny all…</Button>
      {asking && (
        <ConfirmDialog
          title={`${asking} ${asked.length} ${asked.length === 1 ? "call" : "calls"}?`}
          action={`${asking} all`}
          state={decide}
          onConfirm={decideAll}
          onClose={() => setAsking(null)}
        >
          {asked.map(({ toolName }) => toolName ?? "a call").join(", ")}
        </ConfirmDialog>
      )}
    </div>
  );
}
