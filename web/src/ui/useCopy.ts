import { useEffect, useState } from "react";

const SHOWN_MS = 1500;

/** Copies to the clipboard, and says for a moment that it did. */
export function useCopy(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return {
    copied,
    // The clipboard is missing outside secure contexts and may be refused; the text can still be selected.
    copy: (text) =>
      void navigator.clipboard?.writeText(text).then(
        () => setCopied(true),
        () => {},
      ),
  };
}
