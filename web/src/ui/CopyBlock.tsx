import { Check, Copy } from "lucide-react";
import { IconButton } from "./Button";
import { classes } from "./classes";
import { Pre } from "./Pre";
import { useCopy } from "./useCopy";

interface CopyBlockProps {
  text: string;
  label: string;
  /** Shows all of a long text, such as a secret that is shown once. */
  wrap?: boolean;
}

/** Text to take elsewhere, such as a request for the command line. */
export function CopyBlock({ text, label, wrap = false }: CopyBlockProps) {
  const { copied, copy } = useCopy();
  return (
    <div className="relative">
      <Pre
        className={classes(
          "overflow-x-auto rounded-lg border border-line bg-sunken p-3 pr-11 text-left font-mono text-xs leading-5 text-ink-2",
          wrap && "whitespace-pre-wrap wrap-anywhere",
        )}
      >
        {text}
      </Pre>
      <IconButton
        label={copied ? "Copied" : label}
        className="absolute top-1.5 right-1.5 bg-sunken"
        onClick={() => copy(text)}
      >
        {copied ? <Check size={15} className="text-ok" /> : <Copy size={15} />}
      </IconButton>
    </div>
  );
}
