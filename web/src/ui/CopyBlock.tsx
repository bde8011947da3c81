import { Check, Copy } from "lucide-react";
import { IconButton } from "./Button";
import { Pre } from "./Pre";
import { useCopy } from "./useCopy";

/** Text to take elsewhere, such as a request for the command line. */
export function CopyBlock({ text, label }: { text: string; label: string }) {
  const { copied, copy } = useCopy();
  return (
    <div className="relative">
      <Pre className="overflow-x-auto rounded-lg border border-line bg-sunken p-3 pr-11 text-left font-mono text-xs leading-5 text-ink-2">
        {text}
      </Pre>
      <IconButton
        label={copied ? "Copied" : label}
        className="absolute top-1.5 right-1.5"
        onClick={() => copy(text)}
      >
        {copied ? <Check size={15} className="text-ok" /> : <Copy size={15} />}
      </IconButton>
    </div>
  );
}
