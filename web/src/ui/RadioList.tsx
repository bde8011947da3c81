import { useEffect, useId, useRef } from "react";
import { classes } from "./classes";

interface RadioListProps {
  legend: string;
  /** Above the options; null for no search. */
  search: { label: string; text: string; onText: (text: string) => void } | null;
  options: readonly { id: string; title: string; note: string }[];
  /** In place of the options when there are none. */
  none: string;
  value: string;
  onChange: (id: string) => void;
  errors: readonly string[];
}

/** A choice of one of many, each with a note. */
export function RadioList(props: RadioListProps) {
  const { legend, search, options, none, value, onChange, errors } = props;
  const name = useId();
  const list = useRef<HTMLDivElement>(null);
  // What is chosen may come after the focus: then they would be on different options.
  useEffect(() => {
    const focused = list.current?.querySelector<HTMLInputElement>("input:focus");
    if (focused && focused.value !== value) {
      list.current?.querySelector<HTMLInputElement>(`input[value="${value}"]`)?.focus();
    }
  }, [value]);
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{legend}</legend>
      {search && (
        <input
          type="search"
          aria-label={search.label}
          placeholder={search.label}
          autoComplete="off"
          spellCheck={false}
          className="control mb-2"
          value={search.text}
          onChange={(event) => search.onText(event.target.value)}
        />
      )}
      <div ref={list} className="max-h-56 overflow-y-auto rounded-md border border-line">
        {options.map(({ id, title, note }) => (
          <label
            key={id}
            className={classes(
              "flex items-center gap-2.5 border-b border-line px-3 py-2 text-sm last:border-b-0 hover:bg-hover",
              value === id && "bg-accent-soft",
            )}
          >
            <input
              type="radio"
              name={name}
              value={id}
              checked={value === id}
              onChange={() => onChange(id)}
              className="size-3.5 accent-accent"
            />
            <span className="min-w-0 flex-1 truncate">{title}</span>
            <span className="truncate text-xs text-ink-3">{note}</span>
          </label>
        ))}
        {options.length === 0 && <p className="px-3 py-2 text-xs text-ink-3">{none}</p>}
      </div>
      {errors.length > 0 && (
        <p role="alert" className="mt-1.5 text-xs text-bad">
          {errors.join(" ")}
        </p>
      )}
    </fieldset>
  );
}
