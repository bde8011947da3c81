import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Webhook } from "lucide-react";
import { useState } from "react";
import { useWholeList } from "@/api/usePages";
import { type WebhookRowFragment, WebhooksDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { OrgPage } from "../OrgPage";
import { NEW_WEBHOOK } from "./draft";
import {
  DeleteWebhookDialog,
  EditWebhookDialog,
  NewWebhookDialog,
  RotateSecretDialog,
} from "./WebhookDialogs";
import { type WebhookAct, WebhookListItem } from "./WebhookListItem";

const DIALOGS = {
  edit: EditWebhookDialog,
  rotate: RotateSecretDialog,
  delete: DeleteWebhookDialog,
} as const;

export function WebhooksPage() {
  const { webhook: opened } = useSearch({ from: "/app/organization/webhooks" });
  const navigate = useNavigate({ from: "/organization/webhooks" });
  const [creating, setCreating] = useState(false);
  const [act, setAct] = useState<{ what: WebhookAct; on: WebhookRowFragment } | null>(null);
  const webhooks = useWholeList(WebhooksDocument, (data) => data.webhooks);
  const ActDialog = act && DIALOGS[act.what];

  return (
    <OrgPage
      title="Webhooks"
      about="Signed HTTP callbacks for events."
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          <Plus size={15} aria-hidden />
          New webhook
        </Button>
      }
    >
      <ListBody
        list={webhooks}
        empty={
          <EmptyState
            icon={<Webhook size={20} />}
            title="No webhooks yet"
            action={
              <Button look="primary" onClick={() => setCreating(true)}>
                Create a webhook
              </Button>
            }
            request={curlRequest(
              "mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret userErrors { path message } } }",
              { input: { ...NEW_WEBHOOK, url: "https://example.com/ostler" } },
            )}
          >
            A webhook calls your endpoint when a turn ends, an approval is requested or a session
            waits.
          </EmptyState>
        }
      >
        <ul aria-label="Webhooks" className="border-t border-line">
          {webhooks.nodes.map((each) => (
            <WebhookListItem
              key={each.id}
              webhook={each}
              open={each.id === opened}
              onOpen={(open) =>
                void navigate({ search: open ? { webhook: each.id } : {}, replace: true })
              }
              onAct={(what) => setAct({ what, on: each })}
            />
          ))}
        </ul>
      </ListBody>
      {creating && (
        <NewWebhookDialog onCreated={webhooks.reload} onClose={() => setCreating(false)} />
      )}
      {act && ActDialog && <ActDialog webhook={act.on} onClose={() => setAct(null)} />}
    </OrgPage>
  );
}
