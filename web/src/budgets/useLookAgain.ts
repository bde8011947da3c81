import { useEffect, useRef } from "react";

/** How often to look what others have made of what is shown. */
const LOOK_AGAIN_MS = 5000;

/**
 * Looks again, every few seconds, and when somebody comes back to the page: a budget is spent and changed by others, and no event tells
 * of that. Not while the page is hidden, nor while a form is open that would be held against something newer than it was opened with.
 */
export function useLookAgain(look: () => void, paused: boolean): void {
  const latest = useRef(look);
  useEffect(() => {
    latest.current = look;
  });
  useEffect(() => {
    if (paused) return;
    const again = () => {
      if (document.visibilityState === "visible") latest.current();
    };
    const timer = setInterval(again, LOOK_AGAIN_MS);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [paused]);
}
