import { ListOrdered } from "lucide-react";
import type { SessionState, UserItem } from "../feed/state";

/** Messages that wait for the turns before them. */
export function QueuedTurns({ session }: { session: SessionState }) {
  const { queuedTurnIds, items } = session;
  if (queuedTurnIds.length === 0) return null;
  const inputOf = (turnId: string) =>
    items.find((item): item is UserItem => item.kind === "user" && item.turnId === turnId);
  return (
    <section
      aria-label="Queued messages"
      className="card mx-3 rounded-b-none border-b-0 bg-sunken px-3 py-2"
    >
      <h2 className="flex items-center gap-1.5 text-xs font-medium text-ink-2">
        <ListOrdered size={13} aria-hidden />
        Queued · {queuedTurnIds.length}
      </h2>
      <ol className="mt-1 max-h-28 overflow-y-auto text-sm">
        {queuedTurnIds.map((turnId, index) => (
          <li key={turnId} className="flex gap-2 py-0.5">
            <span className="text-ink-3 tabular-nums">{index + 1}</span>
            <span className="truncate">{previewOf(inputOf(turnId))}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function previewOf(input: UserItem | undefined): string {
  if (!input) return "…";
  return input.text || (input.images.length === 1 ? "An image" : `${input.images.length} images`);
}
