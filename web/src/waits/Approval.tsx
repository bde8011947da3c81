import { Check, Pencil, X } from "lucide-react";
import { Suspense, useState } from "react";
import { lazy } from "@/api/reachable";
import { useAction } from "@/api/useAction";
import { ArgumentChanges } from "@/calls/ArgumentChanges";
import { CallData } from "@/calls/CallData";
import { DecideApprovalDocument } from "@/gql/graphql";
import { useAlone } from "@/org/useAlone";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import { useToast } from "@/ui/Toasts";
import { useStoredState } from "@/ui/useStoredState";
import { DecisionList } from "./DecisionList";
import { decisionOf, tallyOf } from "./decisions";
import { PaymentToApprove } from "./PaymentToApprove";
import { WhoAndWhy } from "./WhoAndWhy";
import { WhyNot } from "./WhyNot";
import type { WaitProps } from "./wait";

// Few calls are changed before they run.
const ArgumentsForm = lazy(() => import("./ArgumentsForm"));

/** A call, or a payment of it, that people have to allow: what exactly it is, and what they may do about it. */
export function Approval({ wait, onResolved }: WaitProps) {
  const viewer = useViewer();
  const toast = useToast();
  const [editing, setEditing] = useState(false);
  const [note, setNote] = useStoredState(sessionStorage, `ostler.note.${wait.id}`, "");
  const decide = useAction(DecideApprovalDocument);
  const { approvals, proposed } = tallyOf(wait.decisions);
  const mine = wait.decisions.find(
    ({ actor }) => actor.id !== null && actor.id === viewer.user?.id,
  );

  const alone = useAlone(wait.viewerMayResolve && mine !== undefined);
  // Whoever may cancel the turn may deny its calls, whatever the policy says.
  const mayDeny =
    wait.viewerMayResolve ||
    (["SESSIONS_WRITE", "APPROVALS_DECIDE"] as const).every((each) =>
      viewer.permissions.includes(each),
    );

  const send = async (approve: boolean, own?: unknown) => {
    const input = decisionOf(wait, approve, { note, ...(own !== undefined && { own }) });
    if (!(await decide.run({ input }))) return;
    toast(`You ${approve ? "approved" : "denied"} ${wait.toolName ?? "a call"}.`);
    setNote("");
    setEditing(false);
    onResolved();
  };
  const aboutArguments = decide.refusals.filter(({ path }) => path.includes("arguments"));
  const others = decide.refusals.filter(({ path }) => !path.includes("arguments"));

  return (
    <>
      <WhoAndWhy wait={wait} />
      {wait.payment && <PaymentToApprove payment={wait.payment} />}
      <CallData
        title={proposed === undefined ? "Arguments" : "Original arguments"}
        toolName={wait.toolName}
        value={wait.arguments}
        sessionId={wait.state === "OPEN" ? wait.session.id : undefined}
      />
      {proposed !== undefined && <ArgumentChanges before={wait.arguments} after={proposed} />}
      {wait.quorum > 1 && (
        <p className="text-xs text-ink-2">
          {approvals} of {wait.quorum} approvals
        </p>
      )}
      <DecisionList decisions={wait.decisions} />
      <WhyNot wait={wait} />
      <Problems of={editing ? { ...decide, refusals: others } : decide} />
      {wait.viewerMayResolve && mine && (
        <p className="text-xs text-ink-2">
          You {mine.approve ? "approved" : "denied"} this. Someone else has to decide, too.
          {alone &&
            " You are the only member of this organization: invite somebody, or stop the turn."}
        </p>
      )}
      {wait.viewerMayResolve && !mine && editing && (
        <Suspense>
          <ArgumentsForm
            storageKey={`ostler.arguments.${wait.id}`}
            initial={proposed ?? wait.arguments}
            busy={decide.busy}
            refusals={aboutArguments}
            onSubmit={(value) => void send(true, value)}
            onCancel={() => setEditing(false)}
          />
        </Suspense>
      )}
      {mayDeny && !mine && !editing && (
        <div className="flex flex-wrap items-center gap-2">
          {wait.viewerMayResolve && (
            <Button
              look="primary"
              aria-keyshortcuts="A"
              disabled={decide.busy}
              onClick={() => void send(true)}
            >
              <Check size={14} aria-hidden />
              Approve
            </Button>
          )}
          <Button
            look="danger"
            aria-keyshortcuts="D"
            disabled={decide.busy}
            onClick={() => void send(false)}
          >
            <X size={14} aria-hidden />
            Deny
          </Button>
          {wait.viewerMayResolve && !wait.payment && (
            <Button look="ghost" disabled={decide.busy} onClick={() => setEditing(true)}>
              <Pencil size={14} aria-hidden />
              Edit arguments
            </Button>
          )}
          <input
            aria-label="Note"
            placeholder="Note, optional"
            className="control min-w-40 flex-1"
            maxLength={2000}
            autoComplete="off"
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </div>
      )}
    </>
  );
}
