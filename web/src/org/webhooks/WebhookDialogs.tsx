import { useState } from "react";
import { useAction } from "@/api/useAction";
import {
  CreateWebhookDocument,
  DeleteWebhookDocument,
  UpdateWebhookDocument,
  type WebhookRowFragment,
} from "@/gql/graphql";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { CopyOnceDialog } from "@/ui/CopyOnceDialog";
import { createWebhookInput, NEW_WEBHOOK, updateWebhookInput } from "./draft";
import { WebhookForm } from "./WebhookForm";

interface CreatesProps {
  onCreated: () => void;
  onClose: () => void;
}

export function NewWebhookDialog({ onCreated, onClose }: CreatesProps) {
  const create = useAction(CreateWebhookDocument);
  // The secret is in one answer alone, and kept nowhere else than here.
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) return <SecretDialog secret={secret} onClose={onClose} />;
  return (
    <WebhookForm
      title="New webhook"
      initial={NEW_WEBHOOK}
      action="Create webhook"
      state={create}
      isChange={() => true}
      onSubmit={async (draft) => {
        const answer = await create.run({ input: createWebhookInput(draft) });
        if (!answer) return;
        setSecret(answer.secret);
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
  const update = useAction(UpdateWebhookDocument);
  return (
    <WebhookForm
      title="Edit webhook"
      initial={webhook}
      action="Save"
      state={update}
      isChange={(draft) => updateWebhookInput(draft, webhook) !== null}
      onSubmit={async (draft) => {
        const input = updateWebhookInput(draft, webhook);
        return input && update.run({ id: webhook.id, input });
      }}
      onClose={onClose}
    />
  );
}

export function RotateSecretDialog({ webhook, onClose }: ChangesProps) {
  const rotate = useAction(UpdateWebhookDocument);
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
      state={rotate}
      onConfirm={async () => {
        const answer = await rotate.run({ id: webhook.id, input: { rotateSecret: true } });
        setSecret(answer?.secret ?? null);
      }}
      onClose={onClose}
    >
      Deliveries are signed with the new secret, and with the current one for another 24 hours.
      Secrets rotated before that stop working now.
    </ConfirmDialog>
  );
}

export function DeleteWebhookDialog({ webhook, onClose }: ChangesProps) {
  const remove = useAction(DeleteWebhookDocument);
  return (
    <ConfirmDialog
      title="Delete webhook"
      action="Delete"
      state={remove}
      onConfirm={() => remove.run({ id: webhook.id })}
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
    <CopyOnceDialog title="Copy the secret" text={secret} label="Copy secret" onClose={onClose}>
      It is shown only once. Use it to verify that requests come from this server. {children}
    </CopyOnceDialog>
  );
}
