import { formatAmount } from "@/money/amounts";
import type { Wait } from "./wait";

/** What would be paid, to whom and what for. The amount is exact: it is what people allow. */
export function PaymentToApprove({ payment }: { payment: NonNullable<Wait["payment"]> }) {
  const rows = [
    ["Amount", formatAmount(payment.amount, payment.currency)],
    ["Paid to", payment.host],
    ["For", payment.purpose],
  ] as const;
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-2xs leading-5 font-medium text-ink-3">{name}</dt>
          <dd className="wrap-anywhere whitespace-pre-line">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
