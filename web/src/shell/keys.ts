import { useSyncExternalStore } from "react";
import { Store } from "@/api/store";

const KEY = "ostler.shortcuts";

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

/** Whether keys without Ctrl or ⌘ do something. Who dictates or presses keys by mistake turns them off (WCAG 2.1.4). */
const singleKeys = new Store(read());

export function setSingleKeys(on: boolean): void {
  singleKeys.publish(on);
  try {
    if (on) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, "off");
  } catch {
    // The choice then lasts as long as the page.
  }
}

export function useSingleKeys(): boolean {
  return useSyncExternalStore(singleKeys.subscribe, singleKeys.getSnapshot);
}

/** Keys that belong to whoever types, or to the dialog or menu that is open, and not to the page. */
const OWNERS = "input, textarea, select, [contenteditable], [role=dialog], [role=menu]";

/** Whether a key without Ctrl or ⌘ is one for the page. */
export function isForPage(event: KeyboardEvent): boolean {
  if (!singleKeys.getSnapshot()) return false;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return false;
  if (event.target instanceof Element && event.target.closest(OWNERS)) return false;
  return document.querySelector("[data-dialog-open]") === null;
}
