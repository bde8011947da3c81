import { newIdempotencyKey } from "@/api/idempotency";
import { Store } from "@/api/store";
import type { Delivery } from "@/gql/graphql";
import type { ChatItem, MessageImage } from "../feed/state";
import type { AttachedFile } from "./textFiles";

export interface OutboxMessage {
  readonly text: string;
  readonly images?: readonly MessageImage[];
  /** What has to be written before it is sent. */
  readonly files?: readonly AttachedFile[];
  readonly delivery: Delivery;
  /** The newest item of the session when it was written; null for none. */
  readonly after?: string | null;
  /** What it names its session, which has no title; null where it has. */
  readonly title?: string | null;
}

export interface OutboxEntry extends Required<OutboxMessage> {
  /** Each try of the same message carries the same key, so it can't arrive twice. */
  readonly key: string;
  /** `stalled` waits for the connection; `sent` waits for its event. */
  readonly state: "waiting" | "sending" | "sent" | "stalled" | "refused";
  readonly messageId: string | null;
  readonly problem: string | null;
}

export type Failure =
  | { kind: "unreachable"; problem: string }
  | { kind: "refused"; problem: string };
export type SendOutcome = { kind: "sent"; messageId: string } | Failure;

const NOTHING_ELSE = { images: [], files: [], after: null, title: null };

/** Messages on their way to the server, in order. They survive a reload of the page. */
export class Outbox extends Store<readonly OutboxEntry[]> {
  #draining = false;

  constructor(
    private readonly storage: Storage,
    private readonly storageKey: string,
    private readonly send: (entry: OutboxEntry) => Promise<SendOutcome>,
    private readonly write: (file: AttachedFile) => Promise<Failure | null>,
  ) {
    super(readEntries(storage, storageKey));
  }

  add(message: OutboxMessage): void {
    const key = newIdempotencyKey();
    this.#set([
      ...this.snapshot,
      { ...NOTHING_ELSE, ...message, key, state: "waiting", messageId: null, problem: null },
    ]);
    void this.#drain();
  }

  /** Sends again what could not be sent. */
  retry(): void {
    if (!this.snapshot.some(({ state }) => state === "stalled")) return;
    this.#set(
      this.snapshot.map((entry) =>
        entry.state === "stalled" ? { ...entry, state: "waiting", problem: null } : entry,
      ),
    );
    void this.#drain();
  }

  discard(key: string): void {
    this.#set(this.snapshot.filter((entry) => entry.key !== key));
  }

  /** Drops those whose message has come back as an event. */
  settle(arrived: ReadonlySet<string>): void {
    const left = this.snapshot.filter(
      ({ messageId }) => messageId === null || !arrived.has(messageId),
    );
    if (left.length < this.snapshot.length) this.#set(left);
  }

  async #drain(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    for (;;) {
      const entry = this.snapshot.find(({ state }) => state === "waiting");
      if (!entry) break;
      this.#change(entry.key, { state: "sending" });
      const outcome = (await this.#writeFiles(entry)) ?? (await this.send(entry));
      if (outcome.kind === "sent") {
        this.#change(entry.key, { state: "sent", messageId: outcome.messageId });
      } else if (outcome.kind === "refused") {
        this.#change(entry.key, { state: "refused", problem: outcome.problem });
      } else {
        this.#stallAll(outcome.problem);
      }
    }
    this.#draining = false;
  }

  /** Files that are there are not written again with the next try: the agent may have changed them. */
  async #writeFiles({ key, files }: OutboxEntry): Promise<Failure | null> {
    for (const [index, file] of files.entries()) {
      const failure = await this.write(file);
      if (failure) return failure;
      this.#change(key, { files: files.slice(index + 1) });
    }
    return null;
  }

  /** Nothing gets through, and what comes later must not overtake what came first. */
  #stallAll(problem: string): void {
    this.#set(
      this.snapshot.map((entry) =>
        entry.state === "sending" || entry.state === "waiting"
          ? { ...entry, state: "stalled", problem }
          : entry,
      ),
    );
  }

  #change(key: string, change: Partial<OutboxEntry>): void {
    this.#set(this.snapshot.map((entry) => (entry.key === key ? { ...entry, ...change } : entry)));
  }

  #set(entries: readonly OutboxEntry[]): void {
    try {
      if (entries.length === 0) this.storage.removeItem(this.storageKey);
      else this.storage.setItem(this.storageKey, JSON.stringify(entries));
    } catch {
      // Storage is full or switched off: the messages still go out, they just don't survive a reload.
    }
    this.publish(entries);
  }
}

/** Those that the session doesn't show. The event of a message can be here before the answer that names it. */
export function unseenEntries(
  entries: readonly OutboxEntry[],
  items: readonly ChatItem[],
): readonly OutboxEntry[] {
  return entries.filter((entry) => {
    if (entry.state !== "sending") return true;
    const newer = items.slice(items.findLastIndex(({ id }) => id === entry.after) + 1);
    return !newer.some(
      (item) =>
        item.kind === "user" &&
        item.text === entry.text &&
        item.images.length === entry.images.length,
    );
  });
}

function readEntries(storage: Storage, key: string): OutboxEntry[] {
  try {
    const stored = (JSON.parse(storage.getItem(key) ?? "[]") as OutboxEntry[]).map((entry) => ({
      // What an older dashboard has stored lacks some.
      ...NOTHING_ELSE,
      ...entry,
    }));
    // Whether the last try got through is unknown; the key makes another try safe.
    return stored.map((entry) =>
      entry.state === "waiting" || entry.state === "sending"
        ? { ...entry, state: "stalled" }
        : entry,
    );
  } catch {
    return [];
  }
}
