import { useEffect, useRef } from "react";
import { useClient } from "urql";
import { SessionBriefDocument } from "@/gql/graphql";
import type { OrgFeed } from "./orgFeed";
import type { LiveSession } from "./orgState";

/**
 * Reads those of the shown sessions that are known from events alone, each once. Only what is shown is asked for, so
 * that an organization with a thousand new sessions a second costs no more than one with ten.
 */
export function useReadSessions(feed: OrgFeed, shown: readonly LiveSession[]): void {
  const client = useClient();
  const asked = useRef(new Set<string>());
  useEffect(() => {
    for (const { id, read } of shown) {
      if (read || asked.current.has(id)) continue;
      asked.current.add(id);
      void client
        .query(SessionBriefDocument, { id }, { requestPolicy: "network-only" })
        .toPromise()
        .then(({ data, error }) => {
          if (data?.session) feed.merge([data.session]);
          // It is asked for again with the next event.
          if (error) asked.current.delete(id);
        });
    }
  }, [client, feed, shown]);
}
