import { Pre } from "./Pre";

/** Data as it is: text as text, all else as indented JSON. */
export function JsonBlock({ value }: { value: unknown }) {
  return (
    <Pre className="max-h-80 overflow-auto rounded font-mono text-xs leading-5 whitespace-pre-wrap text-ink-2 wrap-anywhere">
      {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
    </Pre>
  );
}
