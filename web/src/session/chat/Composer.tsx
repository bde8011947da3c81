import { ArrowUp, Paperclip } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import type { Delivery } from "@/gql/graphql";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { useStoredState } from "@/ui/useStoredState";
import { Attachments } from "./Attachments";
import { DeliveryChoice } from "./DeliveryChoice";
import { MOST_IMAGE } from "./images";
import { MOST_FILE } from "./textFiles";
import { type Attachment, useAttachments } from "./useAttachments";

interface ComposerProps {
  sessionId: string;
  /** A turn is under way, so it matters how a message meets it. */
  working: boolean;
  /** That turn waits for a budget. */
  paused: boolean;
  onSend: (text: string, delivery: Delivery, attached: readonly Attachment[]) => void;
  /** Stands beside the button that sends, while a turn is under way. */
  children?: ReactNode;
}

const FIRST_DELIVERY: Delivery = "STEER";

export function Composer({ sessionId, working, paused, onSend, children }: ComposerProps) {
  const [draft, setDraft] = useStoredState(localStorage, `ostler.draft.${sessionId}`, "");
  const [delivery, setDelivery] = useStoredState(
    localStorage,
    `ostler.delivery.${sessionId}`,
    FIRST_DELIVERY,
  );
  const attachments = useAttachments(sessionId);
  const [dragging, setDragging] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // On a touch screen this would bring up the keyboard.
    const idle = document.activeElement === null || document.activeElement === document.body;
    if (idle && matchMedia("(pointer: fine)").matches)
      field.current?.focus({ preventScroll: true });
  }, []);
  const text = draft.trim();
  const { attached, uploading } = attachments;
  const sendable = (text !== "" || attached.length > 0) && !uploading;

  const send = () => {
    if (!sendable) return;
    onSend(text, working ? delivery : FIRST_DELIVERY, attached);
    setDraft("");
    attachments.clear();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    attachments.attach(files);
  };
  const onDrop = (event: DragEvent) => {
    // Without this the browser would leave the page and show the file.
    event.preventDefault();
    setDragging(false);
    attachments.attach([...event.dataTransfer.files]);
  };
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setDragging(true);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also confirms a choice of an input method; that one is not meant to send.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      onSubmit={submit}
      onDragOver={onDragOver}
      onDragLeave={() => setDragging(false)}
      onDrop={onDrop}
      className={classes(
        "rounded-xl border bg-surface shadow-card focus-within:border-ink-3",
        dragging ? "border-accent" : "border-line-strong",
      )}
    >
      <Attachments
        attached={attached}
        pending={attachments.pending}
        onRemove={attachments.remove}
        onDrop={attachments.drop}
      />
      <textarea
        ref={field}
        aria-label="Message"
        placeholder={placeholderOf(working && delivery, paused)}
        rows={1}
        className="block field-sizing-content max-h-60 min-h-11 w-full resize-none bg-transparent px-3.5 pt-3 pb-1 text-base outline-none"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="flex items-center justify-between gap-2 px-2 pb-2">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            attachments.attach([...(event.target.files ?? [])]);
            // The same file may be chosen again.
            event.target.value = "";
          }}
        />
        <IconButton
          label={`Attach images (${MOST_IMAGE} each) or text files (${MOST_FILE} each)`}
          onClick={() => picker.current?.click()}
        >
          <Paperclip size={17} />
        </IconButton>
        {working ? (
          <DeliveryChoice value={delivery} onChange={setDelivery} />
        ) : (
          <span className="hidden pl-1.5 text-xs text-ink-3 sm:inline">
            <kbd className="kbd">Enter</kbd> to send, <kbd className="kbd">Shift Enter</kbd> for a
            new line
          </span>
        )}
        <span className="ml-auto flex">{working && children}</span>
        <button
          type="submit"
          aria-label="Send"
          disabled={!sendable}
          className="flex shrink-0 size-8 items-center justify-center rounded-lg bg-primary text-on-primary transition-opacity hover:bg-primary-hover disabled:opacity-30"
        >
          <ArrowUp size={17} />
        </button>
      </div>
    </form>
  );
}

const PLACEHOLDERS: Partial<Record<Delivery, string>> = {
  STEER: "Add to the current turn…",
  QUEUE: "Queue a message for the next turn…",
  INTERRUPT: "Stop the current turn and send…",
};

/** `delivery` is false while no turn is under way. */
function placeholderOf(delivery: Delivery | false, paused: boolean): string {
  if (paused) return "Paused by a budget. Messages are read once it resumes…";
  return (delivery && PLACEHOLDERS[delivery]) || "Message the agent…";
}
