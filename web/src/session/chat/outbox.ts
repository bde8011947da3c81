import { newIdempotencyKey } from "@/api/idempotency";
import { Store } from "@/api/store";
import type { Delivery } from "@/gql/graphql";
import type { ChatItem, MessageImage } from "../feed/state";

export interface OutboxEntry {
  /** Each try of the same message carries the same key, so it can't arrive twice. */
  readonly key: string;
  readonly text: string;
  readonly images: readonly MessageImage[];
  readonly delivery: Delivery;
  /** The newest item of the session when it was written; null for none. */
  readonly after: string | null;
  /** What it names its session, which has no title; null where it has. */
  readonly title: string | null;
  /** `stalled` waits for the connection; `sent` waits for its event. */
  readonly state: "waiting" | "sending" | "sent" | "stalled" | "refused";
  readonly messageId: string | null;
  readonly problem: string | null;
}

export type SendOutcome =
  | { kind: "sent"; messageId: string }
  | { kind: "unreachable"; problem: string }
  | { kind: "refused"; problem: string };

/** Messages on their way to the server, in order. They survive a reload of the page. */
export class Outbox extends Store<readonly OutboxEntry[]> {
  #draining = false;

  constructor(
    private readonly storage: Storage,
    private readonly storageKey: string,
    private readonly send: (entry: OutboxEntry) => Promise<SendOutcome>,
  ) {
    super(readEntries(storage, storageKey));
  }

  add(
    text: string,
    delivery: Delivery,
    images: readonly MessageImage[] = [],
    after: string | null = null,
    title: string | null = null,
  ): void {
    this.#set([
      ...this.snapshot,
      {
        key: newIdempotencyKey(),
        text,
        images,
        delivery,
        after,
        title,
        state: "waiting",
        messageId: null,
        problem: null,
      },
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
      const outcome = await this.send(entry);
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
      ...entry,
      // What an older dashboard has stored has neither.
      images: entry.images ?? [],
      title: entry.title ?? null,
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
