import type { Connection } from "@/api/connection";
import { Store } from "@/api/store";
import type { EventPageFragment } from "@/gql/graphql";
import { isEphemeral, type SessionEvent } from "./event";
import { foldEvent } from "./fold";
import { openSession, type SessionNow, withPast } from "./history";
import { initialState, type SessionState } from "./state";

export interface FeedSnapshot {
  readonly session: SessionState;
  /** The durable events that have been read, oldest first. */
  readonly log: readonly SessionEvent[];
  /** The cursor before which there are more events; null when the log goes back to the beginning. */
  readonly earlier: string | null;
  readonly connection: Connection;
}

/** Reads the page of events before a cursor; null when it could not be read. */
export type ReadBefore = (before: string) => Promise<EventPageFragment | null>;

/** Holds what has been read of one session, and tells React when it has changed. */
export class SessionFeed extends Store<FeedSnapshot> {
  #waiting: SessionEvent[] = [];
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;

  constructor(private readonly readBefore: ReadBefore) {
    super({
      session: initialState,
      log: [],
      earlier: null,
      connection: { status: "connecting" },
    });
  }

  /** Begins with the newest page of events; the stream goes on after it. */
  open(now: SessionNow): void {
    const { nodes, pageInfo } = now.events;
    const session = openSession(now);
    this.publish({ ...this.snapshot, session, log: nodes, earlier: earlierOf(pageInfo) });
  }

  /** Reads one more page of the past, or all of it. Asked again while it reads, it does nothing. */
  readonly loadEarlier = async (all = false): Promise<void> => {
    if (this.#reading) return;
    this.#reading = true;
    const pages: (readonly SessionEvent[])[] = [];
    let { earlier } = this.snapshot;
    while (earlier !== null) {
      const page = await this.readBefore(earlier);
      if (!page) break;
      pages.unshift(page.nodes);
      earlier = earlierOf(page.pageInfo);
      if (!all) break;
    }
    this.#reading = false;
    if (pages.length === 0) return;
    this.flush();
    const log = [...pages.flat(), ...this.snapshot.log];
    const session = withPast(this.snapshot.session, log);
    this.publish({ ...this.snapshot, session, log, earlier });
  };

  /** Takes an event in. Those that come within one frame are folded and shown together. */
  push(event: SessionEvent): void {
    this.#waiting.push(event);
    // A timer and not an animation frame: those stand still in a background tab.
    this.#flushTimer ??= setTimeout(() => this.flush(), 16);
  }

  /** The sequence to resume after: that of the newest durable event, folded or not yet. */
  resumeAfter(): number {
    this.flush();
    return this.snapshot.session.lastSequence;
  }

  setConnection(connection: Connection): void {
    this.flush();
    this.publish({ ...this.snapshot, connection });
  }

  flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#waiting.length === 0) return;
    const events = this.#waiting;
    this.#waiting = [];
    let session = this.snapshot.session;
    const accepted: SessionEvent[] = [];
    for (const event of events) {
      const before = session.lastSequence;
      session = foldEvent(session, event);
      if (!isEphemeral(event) && session.lastSequence > before) accepted.push(event);
    }
    const log = accepted.length > 0 ? [...this.snapshot.log, ...accepted] : this.snapshot.log;
    this.publish({ ...this.snapshot, session, log });
  }
}

function earlierOf({ hasPreviousPage, startCursor }: EventPageFragment["pageInfo"]): string | null {
  return hasPreviousPage ? startCursor : null;
}
