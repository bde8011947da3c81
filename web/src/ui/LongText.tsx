import { useState } from "react";
import { formatCount } from "./format";
import { beginningOf } from "./longText";

/** Plain text with its line breaks. Of a long one the beginning is shown, until more is wanted. */
export function LongText({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : beginningOf(text);
  return (
    <>
      {shown}
      {(whole || shown !== text) && (
        <button
          type="button"
          aria-expanded={whole}
          className="mt-1 block rounded text-sm text-accent hover:underline"
          onClick={() => setWhole(!whole)}
        >
          {whole ? "Show less" : `Show all ${formatCount(text.length)} characters`}
        </button>
      )}
    </>
  );
}
