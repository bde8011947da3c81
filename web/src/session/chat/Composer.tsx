import { ArrowUp } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import type { Delivery } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { useStoredState } from "@/ui/useStoredState";

interface ComposerProps {
  sessionId: string;
  /** A turn is under way, so it matters how a message meets it. */
  working: boolean;
  onSend: (text: string, delivery: Delivery) => void;
}

const DELIVERIES: { delivery: Delivery; label: string; hint: string }[] = [
  { delivery: "STEER", label: "Steer", hint: "Joins the work under way at its next step" },
  { delivery: "QUEUE", label: "Queue", hint: "Becomes a turn of its own afterwards" },
];

export function Composer({ sessionId, working, onSend }: ComposerProps) {
  const [draft, setDraft] = useStoredState(localStorage, `ostler.draft.${sessionId}`, "");
  const [delivery, setDelivery] = useState<Delivery>("STEER");
  const text = draft.trim();

  const send = () => {
    if (text === "") return;
    onSend(text, working ? delivery : "STEER");
    setDraft("");
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
      className="rounded-xl border border-line-strong bg-surface shadow-card focus-within:border-ink-3"
    >
      <textarea
        aria-label="Message"
        placeholder={working ? "Add to the work under way…" : "Ask for something…"}
        rows={1}
        className="block field-sizing-content max-h-60 min-h-11 w-full resize-none bg-transparent px-3.5 pt-3 pb-1 text-base outline-none"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="flex items-center justify-between gap-2 px-2 pb-2">
        {working ? (
          <DeliveryChoice value={delivery} onChange={setDelivery} />
        ) : (
          <span className="hidden pl-1.5 text-xs text-ink-3 sm:inline">
            <kbd className="kbd">Enter</kbd> to send, <kbd className="kbd">Shift Enter</kbd> for a
            new line
          </span>
        )}
        <button
          type="submit"
          aria-label="Send"
          disabled={text === ""}
          className="ml-auto flex size-8 items-center justify-center rounded-lg bg-primary text-on-primary transition-opacity hover:bg-primary-hover disabled:opacity-30"
        >
          <ArrowUp size={17} />
        </button>
      </div>
    </form>
  );
}

interface DeliveryChoiceProps {
  value: Delivery;
  onChange: (delivery: Delivery) => void;
}

function DeliveryChoice({ value, onChange }: DeliveryChoiceProps) {
  return (
    <fieldset className="flex rounded-md bg-hover p-0.5">
      <legend className="sr-only">Delivery</legend>
      {DELIVERIES.map(({ delivery, label, hint }) => (
        <label
          key={delivery}
          title={hint}
          className={classes(
            "cursor-pointer rounded px-2 py-0.5 text-xs has-focus-visible:outline-2 has-focus-visible:outline-accent",
            value === delivery ? "bg-raised font-medium shadow-card" : "text-ink-2",
          )}
        >
          <input
            type="radio"
            name="delivery"
            className="sr-only"
            checked={value === delivery}
            onChange={() => onChange(delivery)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
