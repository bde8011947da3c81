import type { KeyboardEvent } from "react";
import { Button } from "@/ui/Button";

interface MessageEditProps {
  label: string;
  /** The words of the button that is done with it. */
  action: string;
  text: string;
  /** It was opened just now, and not by coming back into sight. */
  focused: boolean;
  onChange: (text: string) => void;
  /** There are images, so that the message needs no text. */
  mayBeEmpty: boolean;
  busy: boolean;
  onSave: (text: string) => void;
  onCancel: () => void;
}

/** A message in its place while it is being changed. */
export function MessageEdit(props: MessageEditProps) {
  const { label, action, text, focused, onChange, mayBeEmpty, busy, onSave, onCancel } = props;
  const saveable = !busy && (mayBeEmpty || text.trim() !== "");
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") onCancel();
    else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      if (saveable) onSave(text.trim());
    } else return;
    event.preventDefault();
  };
  return (
    <div className="flex min-w-0 flex-1 flex-wrap items-end justify-end gap-1.5">
      <textarea
        aria-label={label}
        rows={1}
        // biome-ignore lint/a11y/noAutofocus: it takes the place of the button that was pressed for it.
        autoFocus={focused}
        className="control field-sizing-content max-h-60 min-h-8 min-w-48 flex-1 resize-none"
        value={text}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <span className="flex gap-1.5">
        <Button look="primary" disabled={!saveable} onClick={() => onSave(text.trim())}>
          {action}
        </Button>
        <Button look="ghost" onClick={onCancel}>
          Cancel
        </Button>
      </span>
    </div>
  );
}
