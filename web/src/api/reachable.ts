import { lazy as reactLazy, useEffect, useRef } from "react";
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

/** A component whose code is loaded when it is first shown, by `loadCode`. */
export const lazy: typeof reactLazy = (load) => reactLazy(() => loadCode(load));

/** Loads code of the dashboard. While the server can't be reached it waits, so that the page then comes by itself. */
export async function loadCode<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch {
    let away = false;
    while (!(await isReachable())) {
      away = true;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    try {
      return await load();
    } catch (error) {
      if (!away) throw error;
      // Some browsers don't ask again for code that has failed once, for as long as the page is open.
      location.reload();
      return new Promise(() => {});
    }
  }
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
