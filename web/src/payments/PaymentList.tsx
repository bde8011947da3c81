import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Receipt } from "lucide-react";
import { useState } from "react";
import { useFresh } from "@/api/useFresh";
import { usePages } from "@/api/usePages";
import { PaymentPoliciesDocument, PaymentsDocument } from "@/gql/graphql";
import { type Change, changed } from "@/shell/search";
import { useMay } from "@/shell/viewer";
import { Button, buttonClasses, ReloadButton } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { Filter } from "@/ui/Field";
import { ListBody } from "@/ui/ListBody";
import { PaymentTable } from "./PaymentTable";
import { SettleDialog } from "./SettleDialog";
import type { PaymentsSearch } from "./search";
import { choose, PAYMENT_STATUSES, type Payment, STATUS_LABELS } from "./words";

const PAGE_SIZE = 50;

/** What tools have asked to pay, newest first, and what became of it. */
export function PaymentList() {
  const search = useSearch({ from: "/app/payments" });
  const navigate = useNavigate({ from: "/payments" });
  const change = (next: Change<PaymentsSearch>) =>
    void navigate({ search: (old) => changed(old, next), replace: true });
  const mayManage = useMay("BUDGETS_MANAGE");
  const [settling, setSettling] = useState<Payment | null>(null);
  const policies = usePolicyNames();
  const payments = usePages(PaymentsDocument, { first: PAGE_SIZE }, (data) => data.payments);
  const { nodes, hasMore } = payments;
  const filtered = search.status !== undefined || search.policy !== undefined;
  const shown = choose(nodes, search);
  return (
    <>
      <search className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2 sm:px-6">
        <Filter
          label="Status"
          value={search.status}
          none="Any status"
          options={PAYMENT_STATUSES.map((each) => [each, STATUS_LABELS[each]])}
          onChange={(status) => change({ status })}
        />
        {policies && (
          <Filter
            label="Policy"
            value={search.policy}
            none="All policies"
            unknown="Deleted policy"
            options={[...policies]}
            onChange={(policy) => change({ policy })}
          />
        )}
        <ReloadButton onClick={payments.reload} />
        {filtered && hasMore && shown.length > 0 && (
          <span role="status" className="text-xs text-ink-3">
            Filtered from the newest {nodes.length}.
          </span>
        )}
      </search>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListBody
          list={{ ...payments, nodes: shown }}
          empty={
            <NoPayments
              filtered={filtered}
              more={hasMore ? nodes.length : null}
              onClear={() => void navigate({ search: {}, replace: true })}
            />
          }
        >
          <PaymentTable
            payments={shown}
            policies={policies}
            {...(mayManage && { onSettle: setSettling })}
          />
        </ListBody>
      </div>
      {settling && <SettleDialog payment={settling} onClose={() => setSettling(null)} />}
    </>
  );
}

/** What policies are called; null for those who may not see them, and until it is known. */
function usePolicyNames(): ReadonlyMap<string, string> | null {
  const mayManage = useMay("BUDGETS_MANAGE");
  const { data } = useFresh(PaymentPoliciesDocument, {}, !mayManage);
  return data ? new Map(data.paymentPolicies.map(({ id, name }) => [id, name])) : null;
}

interface NoPaymentsProps {
  filtered: boolean;
  /** How many were looked at, where there are more. */
  more: number | null;
  onClear: () => void;
}

function NoPayments({ filtered, more, onClear }: NoPaymentsProps) {
  const mayManage = useMay("BUDGETS_MANAGE");
  if (filtered) {
    return (
      <EmptyState
        icon={<Receipt size={20} />}
        title={more === null ? "No payments match" : `None of the newest ${more} payments match`}
        action={<Button onClick={onClear}>Clear filters</Button>}
      >
        {more === null ? "Try fewer filters." : "Load more to look further."}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<Receipt size={20} />}
      title="No payments yet"
      {...(mayManage && {
        action: (
          <Link to="/payments" search={{ view: "policies" }} className={buttonClasses()}>
            View policies
          </Link>
        ),
      })}
    >
      Payments requested by tools appear here with their outcome.{" "}
      {!mayManage && "Owners and admins manage payment policies."}
    </EmptyState>
  );
}
