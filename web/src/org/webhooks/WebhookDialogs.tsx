import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import {
  CreateWebhookDocument,
  DeleteWebhookDocument,
  UpdateWebhookDocument,
  type WebhookRowFragment,
} from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { CopyBlock } from "@/ui/CopyBlock";
import { Dialog } from "@/ui/Dialog";
import { useAction } from "@/waits/useAction";
import { ConfirmDialog } from "../ConfirmDialog";
import { createWebhookInput, NEW_WEBHOOK, updateWebhookInput } from "./draft";
import { WebhookForm } from "./WebhookForm";

interface CreatesProps {
  onCreated: () => void;
  onClose: () => void;
}

export function NewWebhookDialog({ onCreated, onClose }: CreatesProps) {
  const [{ fetching, error, data }, create] = useMutation(CreateWebhookDocument);
  // The secret is in one answer alone, and kept nowhere else than here.
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) return <SecretDialog secret={secret} onClose={onClose} />;
  return (
    <WebhookForm
      title="New webhook"
      initial={NEW_WEBHOOK}
      action="Create webhook"
      busy={fetching}
      failure={error ? describeError(error) : null}
      refusals={data?.createWebhook.userErrors ?? []}
      isChange={() => true}
      onSubmit={async (draft) => {
        const answer = await create({ input: createWebhookInput(draft) });
        if (!answer.data?.createWebhook.secret) return;
        setSecret(answer.data.createWebhook.secret);
        onCreated();
      }}
      onClose={onClose}
    />
  );
}

interface ChangesProps {
  webhook: WebhookRowFragment;
  onClose: () => void;
}

export function EditWebhookDialog({ webhook, onClose }: ChangesProps) {
  const update = useAction(UpdateWebhookDocument, (data) => data.updateWebhook.userErrors);
  return (
    <WebhookForm
      title="Edit webhook"
      initial={webhook}
      action="Save"
      busy={update.busy}
      failure={update.failure}
      refusals={update.refusals}
      isChange={(draft) => updateWebhookInput(draft, webhook) !== null}
      onSubmit={async (draft) => {
        const input = updateWebhookInput(draft, webhook);
        if (input && (await update.run({ id: webhook.id, input }))) onClose();
      }}
      onClose={onClose}
    />
  );
}

export function RotateSecretDialog({ webhook, onClose }: ChangesProps) {
  const [{ fetching, error, data }, rotate] = useMutation(UpdateWebhookDocument);
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) {
    return (
      <SecretDialog secret={secret} onClose={onClose}>
        The previous secret keeps signing for 24 hours.
      </SecretDialog>
    );
  }
  return (
    <ConfirmDialog
      title="Rotate secret"
      action="Create new secret"
      busy={fetching}
      failure={error ? describeError(error) : null}
      refusals={data?.updateWebhook.userErrors ?? []}
      onConfirm={async () => {
        const answer = await rotate({ id: webhook.id, input: { rotateSecret: true } });
        setSecret(answer.data?.updateWebhook.secret ?? null);
      }}
      onClose={onClose}
    >
      Deliveries are signed with the new secret, and with the current one for another 24 hours.
      Secrets rotated before that stop working now.
    </ConfirmDialog>
  );
}

export function DeleteWebhookDialog({ webhook, onClose }: ChangesProps) {
  const remove = useAction(DeleteWebhookDocument, (data) => data.deleteWebhook.userErrors);
  return (
    <ConfirmDialog
      title="Delete webhook"
      action="Delete"
      busy={remove.busy}
      failure={remove.failure}
      refusals={remove.refusals}
      onConfirm={async () => {
        if (await remove.run({ id: webhook.id })) onClose();
      }}
      onClose={onClose}
    >
      <span className="wrap-anywhere">{webhook.url}</span> receives nothing more, and its delivery
      history is deleted. This can't be undone.
    </ConfirmDialog>
  );
}

interface SecretDialogProps {
  secret: string;
  onClose: () => void;
  /** What else there is to know. */
  children?: string;
}

function SecretDialog({ secret, onClose, children }: SecretDialogProps) {
  return (
    <Dialog open sticky onClose={onClose} title="Copy the secret">
      <div className="space-y-4 p-4 text-sm">
        <p role="status">
          It is shown only once. Use it to verify that requests come from this server. {children}
        </p>
        <CopyBlock wrap text={secret} label="Copy secret" />
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
