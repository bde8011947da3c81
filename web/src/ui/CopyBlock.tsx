import { CopyButton } from "./CopyButton";
import { classes } from "./classes";
import { Pre } from "./Pre";

interface CopyBlockProps {
  text: string;
  label: string;
  /** Shows all of a long text, such as a secret that is shown once. */
  wrap?: boolean;
}

/** Text to take elsewhere, such as a request for the command line. */
export function CopyBlock({ text, label, wrap = false }: CopyBlockProps) {
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
      <CopyButton text={text} label={label} className="absolute top-1.5 right-1.5 bg-sunken" />
    </div>
  );
}
