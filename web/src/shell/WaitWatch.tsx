import { useEffect } from "react";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { type EventKind, WaitCountDocument } from "@/gql/graphql";
import { useNotifications } from "@/live/useNotifications";
import { useOrgFeed } from "@/live/useOrgFeed";
import { WAIT_KINDS } from "@/live/waitKinds";
import { useOutboxRetry } from "@/session/chat/outboxes";
import type { Waits } from "./waits";

const KINDS: EventKind[] = [...WAIT_KINDS, "SESSION_PAUSED"];

/**
 * Follows what waits in the organization, tells of it beside the page, sends what waits in outboxes, and shows nothing. It is
 * loaded after the first page.
 */
export default function WaitWatch({ onChange }: { onChange: (waits: Waits) => void }) {
  const { snapshot } = useOrgFeed(KINDS, useNotifications());
  const version = snapshot.org.waitsVersion + snapshot.beginnings;
  const { data, reload } = useFresh(WaitCountDocument, {});
  const count = data?.waits.totalCount ?? null;

  useReloadOn(version, reload);
  useOutboxRetry(snapshot.connection.status === "live");

  useEffect(() => onChange({ version, count }), [version, count, onChange]);
  return null;
}
