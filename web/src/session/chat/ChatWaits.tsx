import { useFresh, useReloadOn } from "@/api/useFresh";
import { SessionWaitsDocument } from "@/gql/graphql";
import { RequestError } from "@/ui/ErrorNote";
import { WaitList } from "@/waits/WaitList";
import type { FeedSnapshot } from "../feed/feed";
import { waitIsOver } from "../feed/waits";

interface ChatWaitsProps {
  sessionId: string;
  feed: FeedSnapshot;
}

/**
 * What the active turn waits for. Events say when to look again and what is over at once; what a person must know to
 * decide, such as whether they may, is read.
 */
export default function ChatWaits({ sessionId, feed }: ChatWaitsProps) {
  const { session } = feed;
  const { data, error, reload } = useFresh(SessionWaitsDocument, { id: sessionId });
  useReloadOn(session.waitsVersion, reload);
  const open = (data?.session?.waits ?? []).filter(
    (wait) =>
      wait.state === "OPEN" &&
      !waitIsOver(session, wait) &&
      // Why a budget has paused the session is told where the next message is written.
      !(wait.kind === "BUDGET" && session.status === "PAUSED"),
  );
  return (
    <>
      <RequestError error={error} onRetry={reload} />
      {open.length > 0 && (
        <WaitList label="Waits" className="mt-4 space-y-3" waits={open} onResolved={reload} />
      )}
    </>
  );
}
