import type { Connection } from "@/api/connection";
import { Store } from "@/api/store";
import type { SessionBriefFragment } from "@/gql/graphql";
import {
  foldOrgEvent,
  initialOrgState,
  mergeBriefs,
  type OrgEvent,
  type OrgState,
} from "./orgState";

export interface OrgFeedSnapshot {
  readonly org: OrgState;
  readonly connection: Connection;
  /** Grows whenever the stream began at the present, so that what was before it has to be read. */
  readonly beginnings: number;
}

const FLUSH_MS = 50;

/** Holds what the organization's stream adds up to, and tells React when it has changed. */
export class OrgFeed extends Store<OrgFeedSnapshot> {
  #cursor: string | null = null;
  /** The subscription begins at the present, and what was before it has not been asked for yet. */
  #beginning = false;
  #waiting: OrgEvent[] = [];
  #flushTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super({
      org: initialOrgState,
      connection: { status: "connecting" },
      beginnings: 0,
    });
  }

  push(event: OrgEvent): void {
    if (event.__typename !== "CaughtUp") this.#cursor = event.cursor;
    else if (this.#cursor === null) this.begin();
    this.#waiting.push(event);
    this.#flushTimer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** The cursor of the newest event that has arrived; null to begin at the present. */
  resumeAfter(): string | null {
    this.#beginning = this.#cursor === null;
    return this.#cursor;
  }

  /** The server does not know the cursor any more: begin at the present again. */
  forgetPosition(): void {
    this.#cursor = null;
  }

  /**
   * The subscription stands, from the present on. What was known before an outage that could not be bridged may have
   * ended unseen, so all is read anew.
   */
  begin(): void {
    if (!this.#beginning) return;
    this.#beginning = false;
    const { beginnings, org } = this.snapshot;
    const kept = beginnings === 0 ? org : { ...org, sessions: {} };
    this.publish({ ...this.snapshot, org: kept, beginnings: beginnings + 1 });
  }

  /** Takes in what was read by query. */
  merge(briefs: readonly SessionBriefFragment[]): void {
    this.flush();
    this.publish({ ...this.snapshot, org: mergeBriefs(this.snapshot.org, briefs) });
  }

  setConnection(connection: Connection): void {
    this.flush();
    this.publish({ ...this.snapshot, connection });
  }

  flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#waiting.length === 0) return;
    const org = this.#waiting.reduce(foldOrgEvent, this.snapshot.org);
    this.#waiting = [];
    if (org !== this.snapshot.org) this.publish({ ...this.snapshot, org });
  }
}
