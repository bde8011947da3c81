import { useSyncExternalStore } from "react";
import { Store } from "@/api/store";

export type ThemeChoice = "system" | "light" | "dark";

// public/theme.js reads the same entry before the first paint.
const KEY = "ostler.theme";
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

function read(): ThemeChoice {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

const theme = new Store(read());

function apply(): void {
  const choice = theme.getSnapshot();
  const dark = choice === "dark" || (choice === "system" && systemDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

systemDark.addEventListener("change", apply);

export function setTheme(next: ThemeChoice): void {
  theme.publish(next);
  try {
    if (next === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // The choice then lasts as long as the page.
  }
  apply();
}

export function useTheme(): ThemeChoice {
  return useSyncExternalStore(theme.subscribe, theme.getSnapshot);
}
