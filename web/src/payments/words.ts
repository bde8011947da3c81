import type { PaymentPolicyRowFragment, PaymentRowFragment, PaymentStatus } from "@/gql/graphql";
import { compareDecimals } from "@/money/decimal";
import type { Tone } from "@/ui/Badge";

export type Policy = PaymentPolicyRowFragment;
export type Payment = PaymentRowFragment;

export const STATUS_LABELS: Record<PaymentStatus, string> = {
  ASKED: "Requested",
  PENDING: "Pending",
  PAID: "Paid",
  REFUSED: "Refused",
};

export const STATUS_TONES: Record<PaymentStatus, Tone> = {
  ASKED: "accent",
  PENDING: "warn",
  PAID: "ok",
  REFUSED: "bad",
};

export const PAYMENT_STATUSES = Object.keys(STATUS_LABELS) as readonly PaymentStatus[];

interface Wanted {
  status?: PaymentStatus;
  policy?: string;
}

/** Those of the payments that were read which are asked for. The API itself lists all of them. */
export function choose(payments: readonly Payment[], { status, policy }: Wanted): Payment[] {
  return payments.filter(
    (each) =>
      (status === undefined || each.status === status) &&
      (policy === undefined || each.policyId === policy),
  );
}

/** What was paid, where that is another amount than what was asked for; else null. */
export function paidOtherwise({ amount, paid }: Pick<Payment, "amount" | "paid">): string | null {
  return paid === null || compareDecimals(paid, amount) === 0 ? null : paid;
}
