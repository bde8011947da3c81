import { useCallback, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import { type Client, type CombinedError, useClient } from "urql";
import { describeError } from "@/api/errors";
import {
  SendMessageDocument,
  SessionTitleDocument,
  UpdateSessionTitleDocument,
  WriteSessionFileDocument,
} from "@/gql/graphql";
import type { FeedSnapshot } from "../feed/feed";
import { contentOf } from "./content";
import {
  type Failure,
  Outbox,
  type OutboxEntry,
  type OutboxMessage,
  type SendOutcome,
  unseenEntries,
} from "./outbox";
import { OutboxesContext } from "./outboxes";
import type { AttachedFile } from "./textFiles";

export type SessionOutbox = ReturnType<typeof useOutbox>;

/** The messages that are on their way into a session, sent again whenever its connection comes back, and by `useOutboxRetry` on other pages. */
export function useOutbox(sessionId: string, feed: FeedSnapshot) {
  const client = useClient();
  const outboxes = useContext(OutboxesContext);
  const outbox = useMemo(() => {
    const known = outboxes.get(sessionId);
    if (known) return known;
    const made = new Outbox(
      localStorage,
      `ostler.outbox.${sessionId}`,
      (entry) => sendMessage(client, sessionId, entry),
      (file) => writeFile(client, sessionId, file),
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
    (message: Omit<OutboxMessage, "after">) => outbox.add({ ...message, after: newest }),
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
    if (title !== null) void nameSession(client, sessionId, title);
    return { kind: "sent", messageId: message.id };
  }
  return failureOf(error);
}

async function writeFile(
  client: Client,
  sessionId: string,
  { path, content }: AttachedFile,
): Promise<Failure | null> {
  const { data, error } = await client
    .mutation(WriteSessionFileDocument, { sessionId, path, content })
    .toPromise();
  const refused = data?.writeSessionFile.userErrors[0];
  if (refused) return { kind: "refused", problem: refused.message };
  return data?.writeSessionFile.file ? null : failureOf(error);
}

function failureOf(error: CombinedError | undefined): Failure {
  const kind =
    error && !error.networkError && error.graphQLErrors.length > 0 ? "refused" : "unreachable";
  return { kind, problem: error ? describeError(error) : "The server gave no answer." };
}

/** Names a session that has no title. The message may have been on its way for long, and somebody may have given it one. */
async function nameSession(client: Client, id: string, title: string): Promise<void> {
  const { data } = await client
    .query(SessionTitleDocument, { id }, { requestPolicy: "network-only" })
    .toPromise();
  if (data?.session && data.session.title === null) {
    await client.mutation(UpdateSessionTitleDocument, { id, title }).toPromise();
  }
}
