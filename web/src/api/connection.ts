import { goToSignIn } from "@/auth/goToSignIn";
import { doubtViewer } from "./doubt";
import { type FollowOptions, follow } from "./follow";
import { refreshSignIn } from "./refresh";

/** How a page stands to the stream that keeps it up to date. */
export type Connection =
  | { readonly status: "connecting" }
  | { readonly status: "live" }
  /** `since` is when the server was last heard of. */
  | { readonly status: "reconnecting"; readonly since: Date }
  /** Nothing will come any more, and trying again won't help. */
  | { readonly status: "ended"; readonly message: string };

interface StayOptions<Event, Position>
  extends Pick<
    FollowOptions<Event, Position>,
    "subscribeOnce" | "resumeAfter" | "sequenceOf" | "onEvent" | "signal"
  > {
  connection: () => Connection;
  setConnection: (connection: Connection) => void;
}

/** Follows a stream through outages and renewals of the sign-in, and tells how it stands. */
export function stayConnected<Event, Position>(
  options: StayOptions<Event, Position>,
): Promise<void> {
  const { connection, setConnection, ...rest } = options;
  return follow({
    ...rest,
    onLive: () => setConnection({ status: "live" }),
    onDown: () => {
      // Only the first of many failed attempts tells since when the page is stale.
      if (connection().status !== "reconnecting") {
        setConnection({ status: "reconnecting", since: new Date() });
      }
    },
    onEnded: (message) => setConnection({ status: "ended", message }),
    renewSignIn: async () => {
      const outcome = await refreshSignIn();
      if (outcome === "signed-out") goToSignIn();
      // Streams are also closed when somebody's role was lowered.
      else doubtViewer();
      return outcome;
    },
    pause: pauseUntilOnline,
  });
}

/** Waits, but not past the moment at which the browser is back online or the page is left. */
function pauseUntilOnline(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    window.addEventListener("online", wake);
    signal.addEventListener("abort", wake);
  });
}
