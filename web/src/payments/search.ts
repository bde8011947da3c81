import type { PaymentStatus } from "@/gql/graphql";

/** What the address of the payments holds. */
export interface PaymentsSearch {
  /** The policies are shown instead of what was paid. */
  view?: "policies";
  status?: PaymentStatus;
  /** The id of the policy whose payments are shown. */
  policy?: string;
}

// Not from words.ts: the address is read with the first load, and the words come with the page.
const STATUSES: readonly PaymentStatus[] = ["ASKED", "PENDING", "PAID", "REFUSED"];

export function paymentsSearch(search: Record<string, unknown>): PaymentsSearch {
  const status = STATUSES.find((each) => each === search.status);
  const { policy } = search;
  return {
    ...(search.view === "policies" ? { view: "policies" } : {}),
    ...(status ? { status } : {}),
    ...(typeof policy === "string" && policy !== "" ? { policy } : {}),
  };
}
