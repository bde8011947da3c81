import { Button } from "@/ui/Button";
import type { Feed } from "../feed/useSessionFeed";

/** Stands at the top of a list whose past has not been read to its beginning. Coming near it reads on, too. */
export function EarlierLine({ feed }: { feed: Feed }) {
  if (feed.earlier === null) return null;
  return (
    <div className="absolute inset-x-0 top-1 z-10 flex justify-center">
      <Button onClick={() => void feed.loadEarlier()}>Load earlier</Button>
    </div>
  );
}
