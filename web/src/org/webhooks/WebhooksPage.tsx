import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Webhook } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { type WebhookRowFragment, WebhooksDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { curlRequest } from "@/ui/graphqlRequest";
import { SkeletonRows } from "@/ui/Loading";
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
  const [{ data, error, fetching }, refetch] = useQuery({
    query: WebhooksDocument,
    requestPolicy: "cache-and-network",
  });
  const reload = () => refetch({ requestPolicy: "network-only" });
  const webhooks = data?.webhooks ?? [];
  const ActDialog = act && DIALOGS[act.what];

  return (
    <OrgPage
      title="Webhooks"
      about="Addresses of yours that are told of what happens here, by signed requests."
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          <Plus size={15} aria-hidden />
          New webhook
        </Button>
      }
    >
      {error && (
        <div className="p-4 sm:px-6">
          <ErrorNote onRetry={reload}>{describeError(error)}</ErrorNote>
        </div>
      )}
      {!data && fetching && <SkeletonRows />}
      {data && webhooks.length === 0 && (
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
          With a webhook your program hears of it when a turn ends, an approval is asked for or a
          session waits, without staying connected.
        </EmptyState>
      )}
      {webhooks.length > 0 && (
        <ul aria-label="Webhooks" className="border-t border-line">
          {webhooks.map((each) => (
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
      )}
      {creating && <NewWebhookDialog onCreated={reload} onClose={() => setCreating(false)} />}
      {act && ActDialog && <ActDialog webhook={act.on} onClose={() => setAct(null)} />}
    </OrgPage>
  );
}
