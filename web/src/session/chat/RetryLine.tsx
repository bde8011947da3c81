import { RefreshCw } from "lucide-react";
import { useEffect, useState } from "react";
import type { Retry } from "../feed/state";
import { retryWords } from "./retryWords";

/** Says that a model call failed and when the next one is made. Mounted anew for each failure. */
export function RetryLine({ retry }: { retry: Retry }) {
  // Counted from when this page heard of it: its clock and the server's need not agree.
  const [heardAt] = useState(() => Date.now());
  const [now, setNow] = useState(heardAt);
  useEffect(() => {
    if (retry.delayMs === 0) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [retry.delayMs]);

  const { problem, next } = retryWords(retry, now - heardAt);
  return (
    <div
      data-role="retry"
      className="mt-3 flex gap-2 rounded-lg border border-warn/25 bg-warn-soft px-3 py-2 text-sm text-warn"
    >
      <RefreshCw size={15} className="mt-0.5 shrink-0" aria-hidden />
      <p className="min-w-0 wrap-anywhere">
        {/* Only this is read out: a countdown would never stop talking. */}
        <span role="status">{problem}</span> <span className="tabular-nums">{next}</span>{" "}
        <code className="font-mono text-xs">{retry.code}</code>
      </p>
    </div>
  );
}
