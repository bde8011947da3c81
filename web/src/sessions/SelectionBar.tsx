import { Ban } from "lucide-react";
import { useState } from "react";
import { type Client, useClient } from "urql";
import { describeError } from "@/api/errors";
import {
  CancelTurnDocument,
  SessionActiveTurnDocument,
  type SessionRowFragment,
} from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { bulkCancel, bulkWords, type CancelOutcome } from "./bulkCancel";

interface SelectionBarProps {
  sessions: readonly SessionRowFragment[];
  /** Ids, of sessions that may have left the list since. */
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
}

/** What can be done with the selected sessions; nothing while none is selected and nothing was done. */
export function SelectionBar({ sessions, selected, onChange }: SelectionBarProps) {
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const atWork = sessions.filter(({ status }) => status === "ACTIVE" || status === "WAITING");
  if (selected.size === 0 && said === null) return null;

  const cancel = async () => {
    setBusy(true);
    setSaid(bulkWords(await bulkCancel([...selected], (id) => cancelActiveTurn(client, id))));
    setBusy(false);
    onChange(new Set());
  };
  return (
    <div className="flex flex-wrap items-center gap-x-1 gap-y-1 sm:gap-x-3 border-b border-line bg-sunken px-4 py-1.5 text-sm sm:px-6">
      <p role="status" className="min-w-0 flex-1 text-ink-2 wrap-anywhere max-sm:basis-full">
        {selected.size > 0 ? `${selected.size} selected` : said}
      </p>
      {selected.size > 0 ? (
        <>
          <Button
            look="ghost"
            disabled={busy || atWork.length === 0}
            onClick={() => onChange(new Set(atWork.map(({ id }) => id)))}
          >
            Select all active
          </Button>
          <Button look="danger" disabled={busy} onClick={() => void cancel()}>
            <Ban size={14} aria-hidden />
            {busy ? "Cancelling…" : "Cancel active turns"}
          </Button>
          <Button look="ghost" disabled={busy} onClick={() => onChange(new Set())}>
            Clear
          </Button>
        </>
      ) : (
        <Button look="ghost" onClick={() => setSaid(null)}>
          Dismiss
        </Button>
      )}
    </div>
  );
}

async function cancelActiveTurn(client: Client, id: string): Promise<CancelOutcome> {
  const read = await client
    .query(SessionActiveTurnDocument, { id }, { requestPolicy: "network-only" })
    .toPromise();
  if (read.error) return { problem: describeError(read.error) };
  const turn = read.data?.session?.activeTurn;
  if (!turn) return "at-rest";
  const { data, error } = await client
    .mutation(CancelTurnDocument, { turnId: turn.id, reason: null })
    .toPromise();
  if (error) return { problem: describeError(error) };
  const refusal = data?.cancelTurn.userErrors[0];
  if (!refusal) return "cancelled";
  // It ended before the cancel came.
  return refusal.code === "CONFLICT" ? "at-rest" : { problem: refusal.message };
}
