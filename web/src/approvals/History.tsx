import { Link } from "@tanstack/react-router";
import { Ban, Check, ChevronRight, Hourglass, ShieldCheck, X } from "lucide-react";
import { useState } from "react";
import { useReloadOn } from "@/api/useFresh";
import { usePages } from "@/api/usePages";
import { ArgumentChanges } from "@/calls/ArgumentChanges";
import { CallData } from "@/calls/CallData";
import {
  DecidedApprovalsDocument,
  type DecidedApprovalsQuery,
  type WaitState,
} from "@/gql/graphql";
import { useWaits } from "@/shell/waits";
import { EmptyState } from "@/ui/EmptyState";
import { ListBody } from "@/ui/ListBody";
import { RelativeTime } from "@/ui/Time";
import { DecisionList } from "@/waits/DecisionList";
import { tallyOf } from "@/waits/decisions";
import { PaymentToApprove } from "@/waits/PaymentToApprove";

const PAGE_SIZE = 30;

type Decided = DecidedApprovalsQuery["waits"]["nodes"][number];

/** The approvals that are over: who decided what, and when. */
export function History() {
  const list = usePages(DecidedApprovalsDocument, { first: PAGE_SIZE }, (data) => data.waits);
  useReloadOn(useWaits().version, list.reload);
  return (
    <ListBody
      list={list}
      empty={
        <EmptyState icon={<ShieldCheck size={20} />} title="No decisions yet">
          Approvals that were decided, expired or were cancelled appear here.
        </EmptyState>
      }
    >
      <ul aria-label="Decided approvals" className="mx-auto max-w-3xl space-y-2 p-4 sm:p-6">
        {list.nodes.map((wait) => (
          <li key={wait.id}>
            <DecidedCard wait={wait} />
          </li>
        ))}
      </ul>
    </ListBody>
  );
}

const OUTCOMES: Partial<Record<WaitState, { label: string; icon: React.ReactNode }>> = {
  OK: { label: "Approved", icon: <Check size={15} className="text-ok" aria-hidden /> },
  ERROR: { label: "Denied", icon: <X size={15} className="text-bad" aria-hidden /> },
  TIMEOUT: { label: "Expired", icon: <Hourglass size={15} className="text-warn" aria-hidden /> },
};
const CANCELLED = {
  label: "Cancelled",
  icon: <Ban size={15} className="text-ink-3" aria-hidden />,
};

function DecidedCard({ wait }: { wait: Decided }) {
  const [open, setOpen] = useState(false);
  const { label, icon } = OUTCOMES[wait.state] ?? CANCELLED;
  const { proposed } = tallyOf(wait.decisions);
  const people = wait.decisions.map(({ actor }) => actor.name).join(", ");
  return (
    <details
      data-decided={wait.state}
      className="group card overflow-hidden text-sm"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="flex flex-wrap items-center gap-x-2.5 gap-y-1 px-3 py-2 hover:bg-hover focus-visible:-outline-offset-2">
        {icon}
        <span className="font-medium wrap-anywhere">
          {label}: {wait.payment ? `a payment of ${wait.toolName}` : wait.toolName}
        </span>
        <span className="min-w-0 flex-1 text-xs text-ink-3 wrap-anywhere">
          {people && `by ${people} · `}
          {wait.session.title ?? "Untitled session"}
        </span>
        <span className="text-xs text-ink-3">
          <RelativeTime time={wait.resolvedAt ?? wait.createdAt} />
        </span>
        <ChevronRight
          size={14}
          className="shrink-0 text-ink-3 transition-transform group-open:rotate-90"
          aria-hidden
        />
      </summary>
      {open && (
        <div className="space-y-3 border-t border-line bg-sunken p-3">
          <DecisionList decisions={wait.decisions} />
          {wait.reason !== null && (
            <p className="text-xs text-ink-2 wrap-anywhere">{wait.reason}</p>
          )}
          {wait.payment && <PaymentToApprove payment={wait.payment} />}
          <CallData title="Arguments" toolName={wait.toolName} value={wait.arguments} />
          {proposed !== undefined && <ArgumentChanges before={wait.arguments} after={proposed} />}
          <Link
            to="/sessions/$sessionId"
            params={{ sessionId: wait.session.id }}
            className="rounded text-xs text-ink-2 underline underline-offset-2"
          >
            Open the session
          </Link>
        </div>
      )}
    </details>
  );
}
