import type { PaymentStatus } from "@/gql/graphql";
import { oneOf, searchOf, text } from "@/shell/search";

// Not from words.ts: the address is read with the first load, and the words come with the page.
const STATUSES: readonly PaymentStatus[] = ["ASKED", "PENDING", "PAID", "REFUSED"];

export const paymentsSearch = searchOf({
  /** The policies are shown instead of what was paid. */
  view: oneOf(["policies"]),
  status: oneOf(STATUSES),
  /** The id of the policy whose payments are shown. */
  policy: text,
});

/** What the address of the payments holds. */
export type PaymentsSearch = ReturnType<typeof paymentsSearch>;
