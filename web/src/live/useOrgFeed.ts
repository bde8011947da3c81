import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { stayConnected } from "@/api/connection";
import { type StreamEnd, streamEnd } from "@/api/follow";
import { subscribeOverSocket } from "@/api/socket";
import { type EventKind, OrgEventsDocument } from "@/gql/graphql";
import { OrgFeed, type OrgFeedSnapshot } from "./orgFeed";
import type { OrgEvent } from "./orgState";

/** By then a subscription that was sent on an open connection stands. */
const BEGUN_AFTER_MS = 500;

/**
 * Follows the organization for as long as the calling component is mounted. `kinds`, which must stay the same, leaves
 * out all others. `heard` gets each event as it comes.
 */
export function useOrgFeed(
  kinds: EventKind[] | null = null,
  heard?: (event: OrgEvent) => void,
): {
  feed: OrgFeed;
  snapshot: OrgFeedSnapshot;
} {
  const feed = useMemo(() => new OrgFeed(), []);
  const listener = useRef(heard);
  useEffect(() => {
    listener.current = heard;
  }, [heard]);

  useEffect(() => {
    const controller = new AbortController();
    void stayConnected<OrgEvent, string | null>({
      subscribeOnce: async (after, onEvent, signal): Promise<StreamEnd> => {
        let timer: ReturnType<typeof setTimeout> | undefined;
        const end = await subscribeOverSocket(
          OrgEventsDocument,
          { after, kinds },
          (data) => onEvent(data.orgEvents),
          signal,
          // Without a position the server has nothing to replay and may stay silent until something happens.
          () => {
            if (after !== null) return;
            timer = setTimeout(() => {
              feed.begin();
              feed.setConnection({ status: "live" });
            }, BEGUN_AFTER_MS);
          },
        );
        clearTimeout(timer);
        // A position that the server refuses is of no more use, but the present is.
        if (end.type === "errors" && end.code === "BAD_USER_INPUT" && after !== null) {
          feed.forgetPosition();
          return { kind: "dropped" };
        }
        return streamEnd(end);
      },
      resumeAfter: () => feed.resumeAfter(),
      // This stream's positions are opaque, and the sequences in it are those of many sessions.
      sequenceOf: () => null,
      onEvent: (event) => {
        feed.push(event);
        listener.current?.(event);
      },
      connection: () => feed.getSnapshot().connection,
      setConnection: (connection) => feed.setConnection(connection),
      signal: controller.signal,
    });
    return () => controller.abort();
  }, [feed, kinds]);

  return { feed, snapshot: useSyncExternalStore(feed.subscribe, feed.getSnapshot) };
}
