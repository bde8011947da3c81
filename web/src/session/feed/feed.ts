import type { Connection } from "@/api/connection";
import { isEphemeral, type SessionEvent } from "./event";
import { foldEvent } from "./fold";
import { initialState, type SessionState } from "./state";

export interface FeedSnapshot {
  readonly session: SessionState;
  /** The durable events, oldest first. */
  readonly log: readonly SessionEvent[];
  readonly connection: Connection;
}

/** Holds what the stream of one session adds up to, and tells React when it has changed. */
export class SessionFeed {
  #snapshot: FeedSnapshot = {
    session: initialState,
    log: [],
    connection: { status: "connecting" },
  };
  #waiting: SessionEvent[] = [];
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  readonly getSnapshot = (): FeedSnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
    return this.#snapshot.session.lastSequence;
  }

  setConnection(connection: Connection): void {
    this.flush();
    this.#publish({ ...this.#snapshot, connection });
  }

  flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#waiting.length === 0) return;
    const events = this.#waiting;
    this.#waiting = [];
    let session = this.#snapshot.session;
    const accepted: SessionEvent[] = [];
    for (const event of events) {
      const before = session.lastSequence;
      session = foldEvent(session, event);
      if (!isEphemeral(event) && session.lastSequence > before) accepted.push(event);
    }
    const log = accepted.length > 0 ? [...this.#snapshot.log, ...accepted] : this.#snapshot.log;
    this.#publish({ ...this.#snapshot, session, log });
  }

  #publish(snapshot: FeedSnapshot): void {
    this.#snapshot = snapshot;
    for (const listener of this.#listeners) listener();
  }
}
