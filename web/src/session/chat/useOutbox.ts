import { useCallback, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import { type Client, useClient } from "urql";
import { describeError } from "@/api/errors";
import { type Delivery, SendMessageDocument, UpdateSessionTitleDocument } from "@/gql/graphql";
import type { FeedSnapshot } from "../feed/feed";
import type { MessageImage } from "../feed/state";
import { contentOf } from "./content";
import { Outbox, type OutboxEntry, type SendOutcome, unseenEntries } from "./outbox";
import { OutboxesContext } from "./outboxes";

export type SessionOutbox = ReturnType<typeof useOutbox>;

/** The messages that are on their way into a session, sent again whenever its connection comes back, and by `useOutboxRetry` on other pages. */
export function useOutbox(sessionId: string, feed: FeedSnapshot) {
  const client = useClient();
  const outboxes = useContext(OutboxesContext);
  const outbox = useMemo(() => {
    const known = outboxes.get(sessionId);
    if (known) return known;
    const made = new Outbox(localStorage, `ostler.outbox.${sessionId}`, (entry) =>
      sendMessage(client, sessionId, entry),
    );
    outboxes.set(sessionId, made);
    return made;
  }, [outboxes, client, sessionId]);
  const entries = useSyncExternalStore(outbox.subscribe, outbox.getSnapshot);

  const { items } = feed.session;
  useEffect(() => {
    if (entries.length === 0) return;
    outbox.settle(new Set(items.filter(({ kind }) => kind === "user").map(({ id }) => id)));
  }, [outbox, items, entries]);

  const live = feed.connection.status === "live";
  useEffect(() => {
    if (live) outbox.retry();
  }, [outbox, live]);

  const newest = items.at(-1)?.id ?? null;
  const send = useCallback(
    (text: string, delivery: Delivery, images: readonly MessageImage[], title: string | null) =>
      outbox.add(text, delivery, images, newest, title),
    [outbox, newest],
  );
  return { outbox, entries: unseenEntries(entries, items), send };
}

async function sendMessage(
  client: Client,
  sessionId: string,
  { key, text, images, delivery, title }: OutboxEntry,
): Promise<SendOutcome> {
  const { data, error } = await client
    .mutation(SendMessageDocument, {
      input: {
        sessionId,
        content: contentOf(text, images),
        delivery,
        idempotencyKey: key,
      },
    })
    .toPromise();
  const refused = data?.sendMessage.userErrors[0];
  if (refused) return { kind: "refused", problem: refused.message };
  const message = data?.sendMessage.message;
  if (message) {
    // The message has arrived whatever becomes of this; a session without a title can be given one later.
    if (title)
      void client.mutation(UpdateSessionTitleDocument, { id: sessionId, title }).toPromise();
    return { kind: "sent", messageId: message.id };
  }
  if (error && !error.networkError && error.graphQLErrors.length > 0) {
    return { kind: "refused", problem: describeError(error) };
  }
  return {
    kind: "unreachable",
    problem: error ? describeError(error) : "The server gave no answer.",
  };
}
