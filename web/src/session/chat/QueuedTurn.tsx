import { ArrowDown, ArrowUp, X } from "lucide-react";
import type { KeyboardEvent } from "react";
import { useAction } from "@/api/useAction";
import { CancelTurnDocument, EditQueuedTurnDocument, MoveQueuedTurnDocument } from "@/gql/graphql";
import { IconButton } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import type { UserItem } from "../feed/state";
import { contentOf } from "./content";
import { MessageEdit } from "./MessageEdit";
import { turnAfterMove } from "./queueMoves";

interface QueuedTurnProps {
  turnId: string;
  order: readonly string[];
  index: number;
  input: UserItem | undefined;
  mayWrite: boolean;
  /** What is typed in the place of the message; null while it is not being changed. */
  draft: string | null;
  onDraft: (text: string | null) => void;
  onMove: () => void;
}

export function QueuedTurn(props: QueuedTurnProps) {
  const { turnId, order, index, input, mayWrite, draft, onDraft, onMove } = props;
  const edit = useAction(EditQueuedTurnDocument);
  const move = useAction(MoveQueuedTurnDocument);
  const cancel = useAction(CancelTurnDocument);
  const preview = previewOf(input);

  const moveBy = (by: -1 | 1) => {
    const before = turnAfterMove(order, index, by);
    if (before === undefined || move.busy) return;
    onMove();
    void move.run({ turnId, before });
  };
  const remove = () => {
    if (!cancel.busy) void cancel.run({ turnId, reason: null });
  };
  const save = async (text: string) => {
    const content = contentOf(text, input?.images ?? []);
    if (await edit.run({ turnId, content })) onDraft(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey && event.key === "ArrowUp") moveBy(-1);
    else if (event.altKey && event.key === "ArrowDown") moveBy(1);
    else if (event.key === "Delete") remove();
    else return;
    event.preventDefault();
  };

  return (
    <li data-turn={turnId} className="py-0.5">
      <div className="flex items-center gap-2">
        <span className="text-xs text-ink-3 tabular-nums">{index + 1}</span>
        {draft !== null && mayWrite ? (
          <MessageEdit
            label="Queued message"
            action="Save"
            text={draft}
            focused
            onChange={onDraft}
            mayBeEmpty={(input?.images.length ?? 0) > 0}
            busy={edit.busy}
            onSave={(text) => void save(text)}
            onCancel={() => onDraft(null)}
          />
        ) : (
          <>
            {mayWrite ? (
              <button
                type="button"
                data-text
                title="Edit (Alt ↑ and Alt ↓ move it, Delete removes it)"
                aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown Delete"
                onClick={() => onDraft(input?.text ?? "")}
                onKeyDown={onKeyDown}
                className="min-w-0 flex-1 truncate rounded px-1 text-left hover:bg-hover"
              >
                <span className="sr-only">Edit: </span>
                {preview}
              </button>
            ) : (
              <span className="min-w-0 flex-1 truncate">{preview}</span>
            )}
            {mayWrite && (
              <span className="flex">
                <IconButton
                  label={`Run earlier: ${preview}`}
                  className="size-7"
                  disabled={index === 0}
                  onClick={() => moveBy(-1)}
                >
                  <ArrowUp size={14} />
                </IconButton>
                <IconButton
                  label={`Run later: ${preview}`}
                  className="size-7"
                  disabled={index === order.length - 1}
                  onClick={() => moveBy(1)}
                >
                  <ArrowDown size={14} />
                </IconButton>
                <IconButton label={`Remove: ${preview}`} className="size-7" onClick={remove}>
                  <X size={14} />
                </IconButton>
              </span>
            )}
          </>
        )}
      </div>
      {[edit, move, cancel].map((each, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are always the same three.
        <Problems key={at} of={each} />
      ))}
    </li>
  );
}

function previewOf(input: UserItem | undefined): string {
  if (!input) return "…";
  return input.text || (input.images.length === 1 ? "An image" : `${input.images.length} images`);
}
