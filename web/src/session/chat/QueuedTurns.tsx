import { ListOrdered } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/ui/Button";
import { useStoredState } from "@/ui/useStoredState";
import type { SessionState, UserItem } from "../feed/state";
import { QueuedTurn } from "./QueuedTurn";

interface QueuedTurnsProps {
  sessionId: string;
  session: SessionState;
  mayWrite: boolean;
  onSend: (text: string) => void;
}

/** By turn, what is typed in the place of its message. */
type Edits = Readonly<Record<string, string>>;

const NO_EDITS: Edits = {};

/** Messages that wait for the turns before them, in the order in which they will run. */
export function QueuedTurns({ sessionId, session, mayWrite, onSend }: QueuedTurnsProps) {
  const { queuedTurnIds, items, caughtUp } = session;
  const [edits, setEdits] = useStoredState(sessionStorage, `ostler.queue.${sessionId}`, NO_EDITS);
  const [moved, setMoved] = useState<string | null>(null);
  const list = useRef<HTMLOListElement>(null);

  // A row that is moved in the page loses the focus, and who moves it by keyboard goes on with it.
  const order = queuedTurnIds.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: this is about what a new order does.
  useEffect(() => {
    if (moved === null) return;
    list.current?.querySelector<HTMLElement>(`[data-turn="${moved}"] [data-text]`)?.focus();
  }, [order]);

  const edit = (turnId: string, text: string | null) => {
    const { [turnId]: _, ...others } = edits;
    const next = text === null ? others : { ...edits, [turnId]: text };
    setEdits(Object.keys(next).length === 0 ? NO_EDITS : next);
  };
  const inputOf = (turnId: string) =>
    items.find((item): item is UserItem => item.kind === "user" && item.turnId === turnId);
  // Those that began while their message was being changed; nothing that was typed may be lost.
  const late = caughtUp
    ? Object.keys(edits).filter(
        (id) => !queuedTurnIds.includes(id) && inputOf(id)?.text !== edits[id],
      )
    : [];
  const position = moved === null ? -1 : queuedTurnIds.indexOf(moved);

  return (
    <>
      {(mayWrite ? late : []).map((turnId) => (
        <LateEdit
          key={turnId}
          text={edits[turnId] ?? ""}
          onSend={(text) => {
            onSend(text);
            edit(turnId, null);
          }}
          onDiscard={() => edit(turnId, null)}
        />
      ))}
      {queuedTurnIds.length > 0 && (
        <section
          aria-label="Queued messages"
          className="card mx-3 rounded-b-none border-b-0 bg-sunken px-3 py-2"
        >
          <h2 className="flex items-center gap-1.5 text-xs font-medium text-ink-2">
            <ListOrdered size={13} aria-hidden />
            Queued · {queuedTurnIds.length}
          </h2>
          <ol ref={list} className="mt-1 max-h-44 overflow-y-auto text-sm">
            {queuedTurnIds.map((turnId, index) => (
              <QueuedTurn
                key={turnId}
                turnId={turnId}
                order={queuedTurnIds}
                index={index}
                input={inputOf(turnId)}
                mayWrite={mayWrite}
                draft={edits[turnId] ?? null}
                onDraft={(text) => edit(turnId, text)}
                onMove={() => setMoved(turnId)}
              />
            ))}
          </ol>
          <p role="status" className="sr-only">
            {position >= 0 && `Now number ${position + 1} of ${queuedTurnIds.length}`}
          </p>
        </section>
      )}
    </>
  );
}

interface LateEditProps {
  text: string;
  onSend: (text: string) => void;
  onDiscard: () => void;
}

function LateEdit({ text, onSend, onDiscard }: LateEditProps) {
  return (
    <div
      role="alert"
      className="mb-2 flex flex-wrap items-center gap-2 rounded-lg border border-warn/25 bg-warn-soft px-3 py-2 text-sm text-warn"
    >
      <p className="min-w-40 flex-1 wrap-anywhere">
        This message started running before your edit was saved: “{text}”
      </p>
      <Button onClick={() => onSend(text)} disabled={text.trim() === ""}>
        Send as a new message
      </Button>
      <Button look="ghost" className="text-warn" onClick={onDiscard}>
        Discard
      </Button>
    </div>
  );
}
