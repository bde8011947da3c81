import { useState } from "react";
import { Pre } from "@/ui/Pre";
import { ShowAll } from "@/ui/ShowAll";
import { cutText } from "./cutText";

/** A text with its line breaks, of which the beginning is shown until the reader asks for all of it. */
export function LongText({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const { head, lines, characters } = cutText(text);
  const cut = !all && head.length < text.length;
  return (
    <>
      <Pre className="overflow-auto rounded font-mono text-xs leading-5 whitespace-pre-wrap text-ink-2 wrap-anywhere">
        {cut ? `${head}…` : text}
      </Pre>
      {cut && (
        <ShowAll
          {...(lines > 1 ? { count: lines, of: "lines" } : { count: characters, of: "characters" })}
          onClick={() => setAll(true)}
        />
      )}
    </>
  );
}
