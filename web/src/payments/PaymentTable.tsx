import { formatAmount } from "@/money/amounts";
import { TurnLinks } from "@/sessions/TurnLinks";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { type Column, DataTable } from "@/ui/DataTable";
import { formatDateTime } from "@/ui/format";
import { type Payment, paidOtherwise, STATUS_LABELS, STATUS_TONES } from "./words";

interface PaymentTableProps {
  payments: readonly Payment[];
  /** What policies are called, by their ids; null for those who may not see them. */
  policies: ReadonlyMap<string, string> | null;
  /** Left out for those who may not. */
  onSettle?: (payment: Payment) => void;
}

export function PaymentTable({ payments, policies, onSettle }: PaymentTableProps) {
  const policyOf = ({ policyId }: Payment) =>
    policies && (policies.get(policyId) ?? "Deleted policy");
  const state = (payment: Payment) => (
    <State payment={payment} {...(onSettle && { onSettle: () => onSettle(payment) })} />
  );
  const columns: Column<Payment>[] = [
    {
      head: "Payment",
      cell: (payment) => (
        <>
          <span className="font-medium wrap-anywhere">{payment.host}</span>
          <span className="block text-xs wrap-anywhere text-ink-2">{payment.purpose}</span>
          <span className="mt-1 block text-xs wrap-anywhere text-ink-3 lg:hidden">
            {[payment.tool, policyOf(payment)].filter(Boolean).join(" · ")}
          </span>
          <span className="block md:hidden">
            <WhenAndWhere payment={payment} />
          </span>
          <span className="mt-1 block sm:hidden">{state(payment)}</span>
        </>
      ),
    },
    {
      head: "Tool",
      from: "lg",
      cell: (payment) => (
        <>
          <span className="wrap-anywhere">{payment.tool}</span>
          <span className="block text-xs wrap-anywhere text-ink-3">{policyOf(payment)}</span>
        </>
      ),
    },
    { head: "Date", from: "md", cell: (payment) => <WhenAndWhere payment={payment} /> },
    {
      head: "Amount",
      align: "right",
      cell: (payment) => {
        const other = paidOtherwise(payment);
        return (
          <>
            {formatAmount(payment.amount, payment.currency)}
            {other !== null && (
              <span className="block text-xs text-warn">
                paid {formatAmount(other, payment.currency)}
              </span>
            )}
          </>
        );
      },
    },
    { head: "Status", from: "sm", className: "sm:w-1/4", cell: state },
  ];
  return (
    <DataTable
      page
      label="Payments"
      rows={payments}
      rowKey={({ id }) => id}
      rowData={({ id, status }) => ({ "data-payment": id, "data-status": status })}
      columns={columns}
    />
  );
}

function WhenAndWhere({ payment: { createdAt, sessionId, turnId } }: { payment: Payment }) {
  return (
    <TurnLinks sessionId={sessionId} turnId={turnId}>
      <time dateTime={createdAt} className="whitespace-nowrap tabular-nums">
        {formatDateTime(createdAt)}
      </time>
    </TurnLinks>
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
          {attempts === 1 ? "1 attempt" : `${attempts} attempts`} so far.
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
