import { useEffect, useRef } from "react";
import type { UseQueryExecute } from "urql";

/** Reads again whenever the version has grown since this was mounted; bursts of changes cost one reading. */
export function useReloadOn(version: number, reload: UseQueryExecute): void {
  const seen = useRef(version);
  useEffect(() => {
    if (seen.current === version) return;
    const timer = setTimeout(() => {
      seen.current = version;
      reload({ requestPolicy: "network-only" });
    }, 150);
    return () => clearTimeout(timer);
  }, [version, reload]);
}
