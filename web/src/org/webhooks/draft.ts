import { changesOf } from "@/api/changes";
import type {
  CreateWebhookInput,
  EventKind,
  UpdateWebhookInput,
  WebhookRowFragment,
} from "@/gql/graphql";

export interface WebhookDraft {
  url: string;
  kinds: readonly EventKind[];
}

/** What most want to hear of: how turns end, and what waits for a person. */
export const NEW_WEBHOOK: WebhookDraft = {
  url: "",
  kinds: ["TURN_COMPLETED", "TURN_FAILED", "TURN_SEALED", "APPROVAL_REQUESTED"],
};

export function createWebhookInput({ url, kinds }: WebhookDraft): CreateWebhookInput {
  return { url: url.trim(), kinds: [...kinds] };
}

/** Null when nothing differs from what is stored. */
export function updateWebhookInput(
  draft: WebhookDraft,
  stored: WebhookRowFragment,
): UpdateWebhookInput | null {
  return changesOf(createWebhookInput(draft), stored);
}
