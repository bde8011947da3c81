import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { isForPage } from "./keys";
import { useOfferedPages } from "./useOfferedPages";
import { useMay } from "./viewer";

interface Shortcuts {
  onPalette: () => void;
  onHelp: () => void;
}

/** By then the key of a page has to follow G. */
const CHORD_MS = 1500;

/** The shortcuts that work on every page; Shortcuts.tsx lists them. */
export function useShortcuts({ onPalette, onHelp }: Shortcuts): void {
  const navigate = useNavigate();
  const pages = useOfferedPages();
  const mayRun = useMay("SESSIONS_WRITE");
  const chordUntil = useRef(0);

  const onKey = (event: KeyboardEvent): boolean => {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      if (key === "k") onPalette();
      else return key === "s" && save();
      return true;
    }
    if (!isForPage(event)) return false;
    if (event.timeStamp < chordUntil.current) {
      chordUntil.current = 0;
      const page = pages.find((each) => each.key === key);
      if (page) void navigate({ to: page.to });
      // Whatever follows G is no shortcut of the page: G A must not approve anything.
      return true;
    }
    if (key === "g") chordUntil.current = event.timeStamp + CHORD_MS;
    else if (key === "?") onHelp();
    else if (key === "c" && mayRun) void navigate({ to: "/sessions", search: { new: "" } });
    else return false;
    return true;
  };

  const latest = useRef(onKey);
  useEffect(() => {
    latest.current = onKey;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!latest.current(event)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    // Before the page's own shortcuts.
    window.addEventListener("keydown", listen, true);
    return () => window.removeEventListener("keydown", listen, true);
  }, []);
}

/** Presses the button of the form in front that saves; false where there is no such form, and the key is the browser's. */
function save(): boolean {
  const dialog = document.querySelector("[role=dialog]");
  const form = (dialog ?? document).querySelector<HTMLFormElement>("form[data-saves]");
  if (!form) return false;
  const button =
    form.querySelector<HTMLButtonElement>("button[type=submit]") ??
    document.querySelector<HTMLButtonElement>(`button[type=submit][form="${form.id}"]`);
  button?.click();
  return true;
}
