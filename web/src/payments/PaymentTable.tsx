import { Link } from "@tanstack/react-router";
import { formatAmount } from "@/money/amounts";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { formatDateTime } from "@/ui/format";
import { type Payment, paidOtherwise, STATUS_LABELS, STATUS_TONES } from "./words";

interface PaymentTableProps {
  payments: readonly Payment[];
  /** What policies are called, by their ids; null for those who may not see them. */
  policies: ReadonlyMap<string, string> | null;
  /** Left out for those who may not. */
  onSettle?: (payment: Payment) => void;
}

const HEAD = "px-3 py-2 text-2xs font-medium text-ink-3";
const CELL = "px-3 py-2.5 align-top";

export function PaymentTable({ payments, policies, onSettle }: PaymentTableProps) {
  return (
    <table className="w-full text-sm" aria-label="Payments">
      <thead className="border-b border-line">
        <tr>
          <th scope="col" className={classes(HEAD, "text-left pl-4 sm:pl-6")}>
            Payment
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-lg:hidden")}>
            Tool
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-md:hidden")}>
            When and where
          </th>
          <th scope="col" className={classes(HEAD, "text-right")}>
            Amount
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-sm:hidden sm:w-1/4 sm:pr-6")}>
            Status
          </th>
        </tr>
      </thead>
      <tbody>
        {payments.map((each) => (
          <PaymentRow
            key={each.id}
            payment={each}
            policies={policies}
            {...(onSettle && { onSettle: () => onSettle(each) })}
          />
        ))}
      </tbody>
    </table>
  );
}

interface PaymentRowProps {
  payment: Payment;
  policies: ReadonlyMap<string, string> | null;
  onSettle?: () => void;
}

function PaymentRow({ payment, policies, onSettle }: PaymentRowProps) {
  const { id, host, purpose, tool, policyId, amount, currency, status } = payment;
  const other = paidOtherwise(payment);
  const policy = policies && (policies.get(policyId) ?? "A policy that was deleted");
  const state = <State payment={payment} {...(onSettle && { onSettle })} />;
  return (
    <tr data-payment={id} data-status={status} className="border-b border-line hover:bg-hover">
      <th scope="row" className={classes(CELL, "pl-4 text-left font-normal sm:pl-6")}>
        <span className="font-medium wrap-anywhere">{host}</span>
        <span className="block text-xs wrap-anywhere text-ink-2">{purpose}</span>
        <span className="mt-1 block text-xs wrap-anywhere text-ink-3 lg:hidden">
          {policy === null ? tool : `${tool} · ${policy}`}
        </span>
        <span className="block md:hidden">
          <WhenAndWhere payment={payment} />
        </span>
        <span className="mt-1 block sm:hidden">{state}</span>
      </th>
      <td className={classes(CELL, "max-lg:hidden")}>
        <span className="wrap-anywhere">{tool}</span>
        {policy !== null && (
          <span className="block text-xs wrap-anywhere text-ink-3">{policy}</span>
        )}
      </td>
      <td className={classes(CELL, "max-md:hidden")}>
        <WhenAndWhere payment={payment} />
      </td>
      <td className={classes(CELL, "text-right tabular-nums")}>
        {formatAmount(amount, currency)}
        {other !== null && (
          <span className="block text-xs text-warn">paid {formatAmount(other, currency)}</span>
        )}
      </td>
      <td className={classes(CELL, "max-sm:hidden sm:pr-6")}>{state}</td>
    </tr>
  );
}

const LINK = "rounded underline underline-offset-2";

function WhenAndWhere({ payment: { createdAt, sessionId, turnId } }: { payment: Payment }) {
  const maySee = useMay("SESSIONS_READ");
  return (
    <span className="flex flex-wrap gap-x-3 text-xs text-ink-2">
      <time dateTime={createdAt} className="whitespace-nowrap tabular-nums">
        {formatDateTime(createdAt)}
      </time>
      {maySee && (
        <>
          <Link to="/sessions/$sessionId" params={{ sessionId }} className={LINK}>
            Session
          </Link>
          <Link
            to="/sessions/$sessionId"
            params={{ sessionId }}
            search={{ view: "events", turn: turnId }}
            className={LINK}
          >
            Turn
          </Link>
        </>
      )}
    </span>
  );
}

interface StateProps {
  payment: Payment;
  onSettle?: () => void;
}

function State({ payment, onSettle }: StateProps) {
  const { status, reference, error, attempts, settledAt, host } = payment;
  return (
    <>
      <Badge tone={STATUS_TONES[status]}>{STATUS_LABELS[status]}</Badge>
      {reference !== null && (
        <span className="block font-mono text-2xs wrap-anywhere text-ink-3">{reference}</span>
      )}
      {error !== null && <span className="block text-xs wrap-anywhere text-ink-2">{error}</span>}
      {status === "PENDING" && (
        <span className="block text-xs text-ink-3">
          The rail was asked {attempts === 1 ? "once" : `${attempts} times`}.
        </span>
      )}
      {settledAt !== null && (
        <time dateTime={settledAt} className="block text-xs text-ink-3 tabular-nums">
          {formatDateTime(settledAt)}
        </time>
      )}
      {status === "PENDING" && onSettle && (
        <Button className="mt-1.5" onClick={onSettle} aria-label={`Settle the payment to ${host}`}>
          Settle…
        </Button>
      )}
    </>
  );
}
