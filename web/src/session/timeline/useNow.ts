import { useEffect, useState } from "react";

/**
 * The present in milliseconds, while something lasts. It is never before the newest event: this machine's clock and the
 * server's need not agree.
 */
export function useNow(lasting: boolean, newest: string | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!lasting) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [lasting]);
  return newest === undefined ? now : Math.max(now, new Date(newest).getTime());
}
