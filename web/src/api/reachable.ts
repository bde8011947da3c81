import { useEffect, useRef } from "react";
import type { CombinedError } from "urql";

const AGAIN_MS = 3000;

/** Tries again, for as long as the caller shows it, what failed because the server couldn't be reached. */
export function useHealing(error: CombinedError | null | undefined, retry?: () => void): void {
  const latest = useRef(retry);
  useEffect(() => {
    latest.current = retry;
  });
  const unreachable = Boolean(error?.networkError);
  useEffect(() => {
    if (!unreachable) return;
    const again = () => latest.current?.();
    const timer = setInterval(again, AGAIN_MS);
    window.addEventListener("online", again);
    return () => {
      clearInterval(timer);
      window.removeEventListener("online", again);
    };
  }, [unreachable]);
}

/** Loads code of the dashboard. While the server can't be reached it waits, so that the page then comes by itself. */
export async function loadCode<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch {
    while (!(await isReachable())) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    return await load();
  }
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
