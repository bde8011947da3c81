import { Receipt } from "lucide-react";
import { useState } from "react";
import { useWholeList } from "@/api/usePages";
import { PaymentPoliciesDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
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
  const policies = useWholeList(PaymentPoliciesDocument, (data) => data.paymentPolicies);
  const ActDialog = act && DIALOGS[act.what];
  return (
    <>
      <ListBody
        list={policies}
        empty={
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
            A policy lets tools make payments up to limits you set. Your own payment server moves
            the money; the model and the tools never see credentials.
          </EmptyState>
        }
      >
        <PolicyTable policies={policies.nodes} onAct={(what, on) => setAct({ what, on })} />
        <p className="px-4 py-3 text-xs text-ink-3 sm:px-6">
          If several enabled policies match a payment, the first one applies. Days are in UTC.
        </p>
      </ListBody>
      {act && ActDialog && <ActDialog policy={act.on} onClose={() => setAct(null)} />}
    </>
  );
}
