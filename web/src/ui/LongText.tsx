import { type ReactNode, useState } from "react";
import { beginningOf } from "./longText";
import { ShowAll } from "./ShowAll";

interface LongTextProps {
  text: string;
  /** Draws what is shown. */
  children: (shown: string) => ReactNode;
}

/** A text of which, if it is long, the beginning is shown until the reader asks for all of it. */
export function LongText({ text, children }: LongTextProps) {
  const [all, setAll] = useState(false);
  const shown = all ? text : beginningOf(text);
  const lines = text.split("\n").length;
  return (
    <>
      {children(shown)}
      {shown !== text && (
        <ShowAll
          {...(lines > 1
            ? { count: lines, of: "lines" }
            : { count: text.length, of: "characters" })}
          onClick={() => setAll(true)}
        />
      )}
    </>
  );
}
