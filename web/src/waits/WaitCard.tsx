import { Link } from "@tanstack/react-router";
import {
  Hand,
  Hourglass,
  MessageCircleQuestion,
  ShieldQuestion,
  Wallet,
  Webhook,
} from "lucide-react";
import type { ReactNode } from "react";
import type { WaitKind } from "@/gql/graphql";
import PauseNote from "@/session/budget/PauseNote";
import { Approval } from "./Approval";
import { Callback } from "./Callback";
import { ClientCall } from "./ClientCall";
import { Deadline } from "./Deadline";
import { Question } from "./Question";
import type { Wait, WaitProps } from "./wait";
import { waitingFor } from "./words";

interface WaitCardProps extends WaitProps {
  /** Where it waits, on pages of many sessions. */
  children?: ReactNode;
}

const ICONS: Partial<Record<WaitKind, typeof Hand>> = {
  APPROVAL: ShieldQuestion,
  QUESTION: MessageCircleQuestion,
  CLIENT_TOOL: Hand,
  COMPLETION: Webhook,
  BUDGET: Wallet,
};

/** Something that a turn waits for, and the means to give it. */
export function WaitCard({ wait, onResolved, children }: WaitCardProps) {
  const Icon = ICONS[wait.kind] ?? Hourglass;
  return (
    <section
      aria-label={titleOf(wait)}
      data-wait={wait.kind}
      data-wait-id={wait.id}
      tabIndex={-1}
      className="rounded-lg border border-warn/30 bg-surface text-sm shadow-card"
    >
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 border-b border-line px-3 py-2">
        <Icon size={16} className="shrink-0 text-warn" aria-hidden />
        <h3 className="min-w-0 flex-1 font-medium wrap-anywhere">{titleOf(wait)}</h3>
        {/* A budget that begins anew ends the wait well: nobody has to hurry. */}
        {wait.kind !== "BUDGET" && <Deadline deadline={wait.deadline} />}
      </div>
      <div className="space-y-3 p-3">
        {children}
        <Body wait={wait} onResolved={onResolved} />
      </div>
    </section>
  );
}

function Body(props: WaitProps) {
  switch (props.wait.kind) {
    case "APPROVAL":
      return <Approval {...props} />;
    case "QUESTION":
      return <Question {...props} />;
    case "CLIENT_TOOL":
      return <ClientCall {...props} />;
    case "COMPLETION":
      return <Callback {...props} />;
    case "BUDGET":
      if (props.wait.session.status === "PAUSED") {
        return <PauseNote sessionId={props.wait.session.id} version={0} />;
      }
      return (
        <p className="text-ink-2">
          The budget can't cover the next step. If other turns have reserved what is left, this turn
          resumes on its own; past a soft limit, someone has to resume it.{" "}
          <Link to="/budgets" className="rounded underline underline-offset-2">
            Budgets
          </Link>
        </p>
      );
    default:
      return <p className="text-ink-2">The turn resumes on its own.</p>;
  }
}

function titleOf(wait: Wait): string {
  switch (wait.kind) {
    case "APPROVAL":
      return wait.payment
        ? `Approve a payment of ${wait.toolName ?? "a call"}?`
        : `Approve ${wait.toolName ?? "a call"}?`;
    case "QUESTION":
      return "The agent has a question";
    case "CLIENT_TOOL":
      return `Waiting for your program: ${wait.toolName ?? "a tool"}`;
    case "COMPLETION":
      return "Waiting for a callback";
    default:
      return `Waiting for ${waitingFor(wait)}`;
  }
}
