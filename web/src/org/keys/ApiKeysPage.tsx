import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useAction } from "@/api/useAction";
import { usePages } from "@/api/usePages";
import { type ApiKeyRowFragment, ApiKeysDocument, RevokeApiKeyDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { EmptyState } from "@/ui/EmptyState";
import { ListBody } from "@/ui/ListBody";
import { OrgPage } from "../OrgPage";
import { KeyListRow } from "./KeyListRow";
import { NewKeyDialog } from "./NewKeyDialog";

export function ApiKeysPage() {
  const [creating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<ApiKeyRowFragment | null>(null);
  const keys = usePages(ApiKeysDocument, { first: 50 }, (data) => data.apiKeys);

  return (
    <OrgPage
      title="API keys"
      about="Keys for programs. They belong to the organization, not to the person who created them."
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          <Plus size={15} aria-hidden />
          New key
        </Button>
      }
    >
      <ListBody
        list={keys}
        empty={
          <EmptyState
            icon={<KeyRound size={20} />}
            title="No API keys yet"
            action={
              <Button look="primary" onClick={() => setCreating(true)}>
                Create a key
              </Button>
            }
          >
            Programs use an API key to start sessions and read their results. A key can do only what
            you allow.
          </EmptyState>
        }
      >
        <ul aria-label="API keys" className="border-t border-line">
          {keys.nodes.map((each) => (
            <KeyListRow key={each.id} apiKey={each} onRevoke={() => setRevoked(each)} />
          ))}
        </ul>
      </ListBody>
      {creating && <NewKeyDialog onCreated={keys.reload} onClose={() => setCreating(false)} />}
      {revoked && <RevokeKey apiKey={revoked} onClose={() => setRevoked(null)} />}
    </OrgPage>
  );
}

function RevokeKey({ apiKey, onClose }: { apiKey: ApiKeyRowFragment; onClose: () => void }) {
  const revoke = useAction(RevokeApiKeyDocument);
  return (
    <ConfirmDialog
      title={`Revoke ${apiKey.name}`}
      action="Revoke"
      state={revoke}
      onConfirm={() => revoke.run({ id: apiKey.id })}
      onClose={onClose}
    >
      Requests with this key are rejected immediately and its open streams close within seconds.
      This can't be undone.
    </ConfirmDialog>
  );
}
