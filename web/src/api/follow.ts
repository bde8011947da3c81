import type { SocketEnd } from "./socket";

/** How one subscription came to its end. */
export type StreamEnd =
  /** The socket closed, or the server wants a new subscription. */
  | { kind: "dropped"; retryAfterMs?: number }
  /** This reader was too slow and events were left out: resume at once. */
  | { kind: "lagged" }
  /** The sign-in is over or due for renewal. */
  | { kind: "refused" }
  /** Trying again can't help. */
  | { kind: "fatal"; message: string }
  | { kind: "aborted" };

/** Subscribes once, and resolves when that subscription has ended. */
export type SubscribeOnce<Event, Position> = (
  after: Position,
  onEvent: (event: Event) => void,
  signal: AbortSignal,
) => Promise<StreamEnd>;

export interface FollowOptions<Event, Position> {
  subscribeOnce: SubscribeOnce<Event, Position>;
  /** Where the newest durable event that has arrived stands. */
  resumeAfter: () => Position;
  /** The number of an event in a stream that counts without gaps; null where there is none. */
  sequenceOf: (event: Event) => number | null;
  onEvent: (event: Event) => void;
  onLive: () => void;
  onDown: () => void;
  onEnded: (message: string) => void;
  /** Renews the sign-in; false when the person has to sign in again. */
  renewSignIn: () => Promise<"refreshed" | "signed-out" | "unreachable">;
  /** Waits before the next attempt; may return early when the network came back. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  signal: AbortSignal;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Follows a stream until it is aborted. Each attempt resumes after the newest event that has arrived, so that a
 * lost connection costs neither a gap nor a repeat.
 */
export async function follow<Event, Position>(
  options: FollowOptions<Event, Position>,
): Promise<void> {
  const { signal } = options;
  let failures = 0;
  while (!signal.aborted) {
    const end = await subscribe(options, () => {
      failures = 0;
    });
    if (signal.aborted || end.kind === "aborted") return;
    if (end.kind === "fatal") {
      options.onEnded(end.message);
      return;
    }
    // Lagging is healed by asking at once, unless not even the first event came through.
    if (end.kind === "lagged" && failures === 0) {
      failures += 1;
      continue;
    }

    options.onDown();
    if (end.kind === "refused") {
      const outcome = await options.renewSignIn();
      if (outcome === "signed-out") {
        options.onEnded("You were signed out.");
        return;
      }
      // A server that takes the renewal and still refuses must not be asked in a tight loop.
      if (outcome === "refreshed" && failures === 0) {
        failures += 1;
        continue;
      }
    }
    const pause = end.kind === "dropped" ? end.retryAfterMs : undefined;
    await options.pause(pause ?? backoff(failures), signal);
    failures += 1;
  }
}

/**
 * Sequences have no gaps, so one that is skipped was lost on the way: the subscription is given up and resumed.
 * Right after a resume a gap is taken as it is, because asking again could not bring more.
 */
async function subscribe<Event, Position>(
  options: FollowOptions<Event, Position>,
  onFirst: () => void,
): Promise<StreamEnd> {
  const attempt = new AbortController();
  const stop = () => attempt.abort();
  options.signal.addEventListener("abort", stop, { once: true });
  let expected: number | null = null;
  let lost = false;
  let heard = false;
  const end = await options.subscribeOnce(
    options.resumeAfter(),
    (event) => {
      if (lost) return;
      if (!heard) {
        heard = true;
        onFirst();
        options.onLive();
      }
      const sequence = options.sequenceOf(event);
      if (sequence !== null) {
        if (expected !== null && sequence > expected) {
          lost = true;
          attempt.abort();
          return;
        }
        expected = Math.max(expected ?? 0, sequence + 1);
      }
      options.onEvent(event);
    },
    attempt.signal,
  );
  options.signal.removeEventListener("abort", stop);
  return lost ? { kind: "lagged" } : end;
}

function backoff(failures: number): number {
  const ceiling = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

const REFUSED = 4403;

export function streamEnd(end: SocketEnd): StreamEnd {
  switch (end.type) {
    case "aborted":
      return { kind: "aborted" };
    // The server never ends such a stream by itself, so this too is a connection to make again.
    case "complete":
      return { kind: "dropped" };
    case "closed":
      return end.code === REFUSED ? { kind: "refused" } : { kind: "dropped" };
    case "errors":
      break;
  }
  switch (end.code) {
    case "SUBSCRIPTION_LAGGED":
      return { kind: "lagged" };
    case "UNAUTHENTICATED":
      return { kind: "refused" };
    case "NOT_FOUND":
    case "FORBIDDEN":
    case "BAD_USER_INPUT":
    case "GRAPHQL_PARSE_FAILED":
    case "GRAPHQL_VALIDATION_FAILED":
    case "QUERY_TOO_COMPLEX":
      return { kind: "fatal", message: end.message };
    default:
      return {
        kind: "dropped",
        ...(end.retryAfterSeconds === null ? {} : { retryAfterMs: end.retryAfterSeconds * 1000 }),
      };
  }
}
