import { LongText } from "@/ui/LongText";
import { Pre } from "@/ui/Pre";

/** A text of a call, with its line breaks. */
export function CallText({ text }: { text: string }) {
  return (
    <LongText text={text}>
      {(shown) => (
        <Pre className="overflow-auto rounded font-mono text-xs leading-5 whitespace-pre-wrap text-ink-2 wrap-anywhere">
          {shown}
        </Pre>
      )}
    </LongText>
  );
}
