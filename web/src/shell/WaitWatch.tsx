import { useEffect, useRef } from "react";
import { useFresh } from "@/api/useFresh";
import { WaitCountDocument } from "@/gql/graphql";
import { useOrgFeed } from "@/live/useOrgFeed";
import { WAIT_KINDS } from "@/live/waitKinds";
import type { Waits } from "./waits";

/** Bursts of events cost one reading. */
const SETTLE_MS = 250;

/** Follows what waits in the organization, and shows nothing. It is loaded after the first page. */
export default function WaitWatch({ onChange }: { onChange: (waits: Waits) => void }) {
  const { snapshot } = useOrgFeed(WAIT_KINDS);
  const version = snapshot.org.waitsVersion + snapshot.beginnings;
  const { data, reload } = useFresh(WaitCountDocument, {});
  const count = data?.waits.totalCount ?? null;

  const seen = useRef(version);
  useEffect(() => {
    if (seen.current === version) return;
    const timer = setTimeout(() => {
      seen.current = version;
      reload();
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [version, reload]);

  useEffect(() => onChange({ version, count }), [version, count, onChange]);
  return null;
}
