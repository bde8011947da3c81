import { Check, Copy } from "lucide-react";
import { IconButton } from "./Button";
import { useCopy } from "./useCopy";

interface CopyButtonProps {
  /** What is copied; a function where it has to be made or read first. */
  text: string | (() => string);
  label: string;
  className?: string;
}

/** Copies a text, and says for a moment that it did. */
export function CopyButton({ text, label, className }: CopyButtonProps) {
  const { copied, copy } = useCopy();
  return (
    <IconButton
      label={copied ? "Copied" : label}
      className={className}
      onClick={() => copy(typeof text === "string" ? text : text())}
    >
      {copied ? (
        <Check size={15} className="text-ok" aria-hidden />
      ) : (
        <Copy size={15} aria-hidden />
      )}
    </IconButton>
  );
}
