import type { KeyboardEvent } from "react";
import { Button } from "@/ui/Button";

interface QueuedEditProps {
  text: string;
  onChange: (text: string) => void;
  /** There are images, so that the message needs no text. */
  mayBeEmpty: boolean;
  busy: boolean;
  onSave: (text: string) => void;
  onCancel: () => void;
}

/** The message of a queued turn while it is being changed. */
export function QueuedEdit(props: QueuedEditProps) {
  const { text, onChange, mayBeEmpty, busy, onSave, onCancel } = props;
  const saveable = !busy && (mayBeEmpty || text.trim() !== "");
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") onCancel();
    else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      if (saveable) onSave(text.trim());
    } else return;
    event.preventDefault();
  };
  return (
    <div className="flex min-w-0 flex-1 items-end gap-1.5">
      <textarea
        aria-label="Queued message"
        rows={1}
        // biome-ignore lint/a11y/noAutofocus: it takes the place of the button that was pressed for it.
        autoFocus
        className="control field-sizing-content max-h-32 min-h-8 flex-1 resize-none"
        value={text}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <Button look="primary" disabled={!saveable} onClick={() => onSave(text.trim())}>
        Save
      </Button>
      <Button look="ghost" onClick={onCancel}>
        Cancel
      </Button>
    </div>
  );
}
