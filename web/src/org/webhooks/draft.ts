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

export function toggled(kinds: readonly EventKind[], kind: EventKind): readonly EventKind[] {
  return kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind];
}

export function createWebhookInput({ url, kinds }: WebhookDraft): CreateWebhookInput {
  return { url: url.trim(), kinds: [...kinds] };
}

/** Only what differs, so that what others changed meanwhile stays; null when nothing does. */
export function updateWebhookInput(
  draft: WebhookDraft,
  stored: WebhookRowFragment,
): UpdateWebhookInput | null {
  const url = draft.url.trim();
  const sameKinds =
    draft.kinds.length === stored.kinds.length &&
    draft.kinds.every((each) => stored.kinds.includes(each));
  if (url === stored.url && sameKinds) return null;
  return {
    ...(url === stored.url ? {} : { url }),
    ...(sameKinds ? {} : { kinds: [...draft.kinds] }),
  };
}
