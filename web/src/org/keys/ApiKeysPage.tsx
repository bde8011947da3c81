import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { type ApiKeyRowFragment, ApiKeysDocument, RevokeApiKeyDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { curlRequest } from "@/ui/graphqlRequest";
import { SkeletonRows } from "@/ui/Loading";
import { LoadMore } from "@/ui/LoadMore";
import { useAction } from "@/waits/useAction";
import { ConfirmDialog } from "../ConfirmDialog";
import { OrgPage } from "../OrgPage";
import { KeyListRow } from "./KeyListRow";
import { NewKeyDialog } from "./NewKeyDialog";

export function ApiKeysPage() {
  const [creating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<ApiKeyRowFragment | null>(null);
  const keys = usePages(ApiKeysDocument, { first: 50 }, (data) => data.apiKeys);
  const empty = !keys.loading && !keys.error && keys.nodes.length === 0;

  return (
    <OrgPage
      title="API keys"
      about="For programs. A key belongs to the organization, not to who created it."
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          <Plus size={15} aria-hidden />
          New key
        </Button>
      }
    >
      {keys.error && (
        <div className="p-4 sm:px-6">
          <ErrorNote onRetry={keys.reload}>{describeError(keys.error)}</ErrorNote>
        </div>
      )}
      {keys.loading && <SkeletonRows />}
      {empty && (
        <EmptyState
          icon={<KeyRound size={20} />}
          title="No API keys yet"
          action={
            <Button look="primary" onClick={() => setCreating(true)}>
              Create a key
            </Button>
          }
          request={curlRequest(
            "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key userErrors { path message } } }",
            {
              input: { name: "CI", permissions: ["ORG_READ", "SESSIONS_READ", "SESSIONS_WRITE"] },
            },
          )}
        >
          With a key a program starts sessions, reads what came of them, or does whatever else you
          allow it.
        </EmptyState>
      )}
      {keys.nodes.length > 0 && (
        <ul aria-label="API keys" className="border-t border-line">
          {keys.nodes.map((each) => (
            <KeyListRow key={each.id} apiKey={each} onRevoke={() => setRevoked(each)} />
          ))}
        </ul>
      )}
      <LoadMore hasMore={keys.hasMore} loading={keys.loadingMore} onLoad={keys.loadMore} />
      {creating && <NewKeyDialog onCreated={keys.reload} onClose={() => setCreating(false)} />}
      {revoked && <RevokeKey apiKey={revoked} onClose={() => setRevoked(null)} />}
    </OrgPage>
  );
}

function RevokeKey({ apiKey, onClose }: { apiKey: ApiKeyRowFragment; onClose: () => void }) {
  const revoke = useAction(RevokeApiKeyDocument, (data) => data.revokeApiKey.userErrors);
  return (
    <ConfirmDialog
      title={`Revoke ${apiKey.name}`}
      action="Revoke"
      busy={revoke.busy}
      failure={revoke.failure}
      refusals={revoke.refusals}
      onConfirm={async () => {
        if (await revoke.run({ id: apiKey.id })) onClose();
      }}
      onClose={onClose}
    >
      Requests with it are refused from now on, and its open streams end within seconds. This can't
      be undone.
    </ConfirmDialog>
  );
}
