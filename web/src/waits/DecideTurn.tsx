import { useState } from "react";
import { useAction } from "@/api/useAction";
import { DecideApprovalDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { useToast } from "@/ui/Toasts";
import { decisionOf } from "./decisions";
import type { Wait } from "./wait";

export type Decision = "Approve" | "Deny";

/** Offers to decide about all calls of a turn that wait for approval. */
export function DecideTurn({ count, onAsk }: { count: number; onAsk: (what: Decision) => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm">
      <span className="flex-1 text-ink-2">{count} calls of one turn wait for approval</span>
      <Button onClick={() => onAsk("Approve")}>Approve all…</Button>
      <Button onClick={() => onAsk("Deny")}>Deny all…</Button>
    </div>
  );
}

interface DecideAllDialogProps<Each extends Wait> {
  decision: Decision;
  /** Those that were there when it was asked: nothing is decided that came after it. */
  waits: readonly Each[];
  /** One of them was decided, and the server knows. */
  onDecided: (wait: Each) => void;
  onClose: () => void;
}

/** Asks whether all of them should be decided, and decides them one after the other. */
export function DecideAllDialog<Each extends Wait>(props: DecideAllDialogProps<Each>) {
  const { decision, waits, onDecided, onClose } = props;
  const [left, setLeft] = useState(waits);
  const decide = useAction(DecideApprovalDocument);
  const toast = useToast();
  const decideAll = async () => {
    for (const wait of left) {
      // The first that is refused stops it, and says why. What was decided before stays decided.
      if (!(await decide.run({ input: decisionOf(wait, decision === "Approve") }))) return false;
      setLeft((all) => all.filter(({ id }) => id !== wait.id));
      onDecided(wait);
    }
    toast(`You ${decision === "Approve" ? "approved" : "denied"} all ${waits.length} calls.`);
    return true;
  };
  return (
    <ConfirmDialog
      title={`${decision} ${left.length} ${left.length === 1 ? "call" : "calls"}?`}
      action={`${decision} all`}
      state={decide}
      onConfirm={decideAll}
      onClose={onClose}
    >
      {left.map(({ toolName }) => toolName ?? "a call").join(", ")}
    </ConfirmDialog>
  );
}
