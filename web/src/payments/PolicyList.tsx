import { Receipt } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { PaymentPoliciesDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { curlRequest } from "@/ui/graphqlRequest";
import { SkeletonRows } from "@/ui/Loading";
import { DeletePolicyDialog, EditPolicyDialog, SwitchPolicyDialog } from "./PolicyDialogs";
import { type PolicyAct, PolicyTable } from "./PolicyTable";
import type { Policy } from "./words";

const DIALOGS = {
  edit: EditPolicyDialog,
  switch: SwitchPolicyDialog,
  delete: DeletePolicyDialog,
} as const;

/** Which tools may pay whom, and how much; for those who may say so. */
export function PolicyList({ onCreate }: { onCreate: () => void }) {
  const [act, setAct] = useState<{ what: PolicyAct; on: Policy } | null>(null);
  const [{ data, error, fetching }, refetch] = useQuery({
    query: PaymentPoliciesDocument,
    requestPolicy: "cache-and-network",
  });
  const policies = data?.paymentPolicies ?? [];
  const ActDialog = act && DIALOGS[act.what];
  return (
    <>
      {error && (
        <div className="p-4 sm:px-6">
          <ErrorNote onRetry={() => refetch({ requestPolicy: "network-only" })}>
            {describeError(error)}
          </ErrorNote>
        </div>
      )}
      {!data && fetching && <SkeletonRows />}
      {data && policies.length === 0 && (
        <EmptyState
          icon={<Receipt size={20} />}
          title="No payment policies yet"
          action={
            <Button look="primary" onClick={onCreate}>
              Create a policy
            </Button>
          }
          request={curlRequest(
            "mutation ($input: CreatePaymentPolicyInput!) { createPaymentPolicy(input: $input) { policy { id } userErrors { path message } } }",
            {
              input: {
                name: "Books",
                capabilities: ["shopping"],
                hosts: ["books.example.com"],
                url: "https://pay.example.com/ostler",
                secret: "the output of openssl rand -hex 32",
                maxPerRequest: "20",
                maxPerTurn: "50",
                maxPerDay: "500",
              },
            },
          )}
        >
          A policy lets tools pay, up to amounts that you give. Without one nothing is paid. A
          server of yours moves the money: neither the model nor the tool sees what is paid with.
        </EmptyState>
      )}
      {policies.length > 0 && (
        <>
          <PolicyTable policies={policies} onAct={(what, on) => setAct({ what, on })} />
          <p className="px-4 py-3 text-xs text-ink-3 sm:px-6">
            Of several policies in force that fit a payment the uppermost one decides. Days are
            those of UTC.
          </p>
        </>
      )}
      {act && ActDialog && <ActDialog policy={act.on} onClose={() => setAct(null)} />}
    </>
  );
}
