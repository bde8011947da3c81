import { useId } from "react";

interface ReasonBarProps {
  value: string;
  onChange: (reason: string) => void;
  /** The id of the form that is sent with it. */
  form: string;
}

const MOST_CHARACTERS = 500;

/** What to say about a change; the history keeps it. */
export function ReasonBar({ value, onChange, form }: ReasonBarProps) {
  const id = useId();
  return (
    <div className="flex items-center gap-3 border-b border-line bg-sunken px-4 py-2 sm:px-6">
      <label htmlFor={id} className="shrink-0 text-sm text-ink-2">
        Reason <span className="text-xs text-ink-3">optional</span>
      </label>
      <input
        id={id}
        form={form}
        className="control"
        autoComplete="off"
        maxLength={MOST_CHARACTERS}
        placeholder="Why this change? Kept in the history."
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
