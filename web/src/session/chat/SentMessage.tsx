import { Pencil } from "lucide-react";
import { useState } from "react";
import { useAction } from "@/api/useAction";
import { RerunTurnDocument } from "@/gql/graphql";
import { IconButton } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import { useStoredState } from "@/ui/useStoredState";
import type { UserItem } from "../feed/state";
import { useMade } from "../useMade";
import { useChatActions } from "./actions";
import { contentOf } from "./content";
import { MessageEdit } from "./MessageEdit";
import { UserMessage } from "./UserMessage";

/** A message that the session holds. One that a turn began with can be edited, and is then answered in a fork that ends before it. */
export function SentMessage({ item }: { item: UserItem }) {
  const { text, images, at, turnId } = item;
  const { mayWrite, inputOf } = useChatActions();
  // The message may leave the page while it is edited, and come back.
  const [draft, setDraft] = useStoredState<string | null>(
    sessionStorage,
    `ostler.edit.${item.id}`,
    null,
  );
  const [opened, setOpened] = useState(false);
  const editable = mayWrite && turnId !== null && inputOf(turnId) === item.id;
  if (editable && draft !== null) {
    return (
      <EditedMessage
        item={item}
        turnId={turnId}
        draft={draft}
        focused={opened}
        onDraft={setDraft}
      />
    );
  }
  return (
    <UserMessage
      text={text}
      images={images}
      at={at}
      tools={
        editable && (
          <IconButton
            label="Edit in a fork"
            className="size-7 text-ink-3"
            onClick={() => {
              setOpened(true);
              setDraft(text);
            }}
          >
            <Pencil size={14} />
          </IconButton>
        )
      }
    />
  );
}

interface EditedMessageProps {
  item: UserItem;
  turnId: string;
  draft: string;
  focused: boolean;
  onDraft: (draft: string | null) => void;
}

function EditedMessage({ item, turnId, draft, focused, onDraft }: EditedMessageProps) {
  const rerun = useAction(RerunTurnDocument);
  const made = useMade();
  const save = (text: string) =>
    made(
      text,
      (idempotencyKey) =>
        rerun.run({ input: { turnId, content: contentOf(text, item.images), idempotencyKey } }),
      () => onDraft(null),
    );
  return (
    <div data-role="user" className="mt-6 flex flex-col gap-1.5">
      <MessageEdit
        label="Edit message"
        action={rerun.busy ? "Sending…" : "Send in a fork"}
        text={draft}
        focused={focused}
        onChange={onDraft}
        mayBeEmpty={item.images.length > 0}
        busy={rerun.busy}
        onSave={(text) => void save(text)}
        onCancel={() => onDraft(null)}
      />
      <p className="text-right text-xs text-ink-3">
        A new session continues from here. This one stays as it is.
      </p>
      <Problems of={rerun} />
    </div>
  );
}
