import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { SessionWaitsDocument } from "@/gql/graphql";
import { ErrorNote } from "@/ui/ErrorNote";
import { WaitCard } from "@/waits/WaitCard";
import type { FeedSnapshot } from "../feed/feed";
import { waitIsOver } from "../feed/waits";
import { useReloadOn } from "../panels/useReloadOn";

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
  const [{ data, error }, reload] = useQuery({
    query: SessionWaitsDocument,
    variables: { id: sessionId },
    requestPolicy: "cache-and-network",
  });
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
      {error && <ErrorNote>{describeError(error)}</ErrorNote>}
      {open.length > 0 && (
        <ul aria-label="Waits" className="mt-4 space-y-3">
          {open.map((wait) => (
            <li key={wait.id}>
              <WaitCard wait={wait} onResolved={() => reload({ requestPolicy: "network-only" })} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
