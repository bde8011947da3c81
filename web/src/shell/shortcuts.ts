import { createContext } from "react";
import { lazy } from "@/api/reachable";

/** Opens the list of all shortcuts. */
export const OpenShortcutsContext = createContext<() => void>(() => {});

/** The list of all shortcuts, loaded when it is first opened. */
export const ShortcutSheet = lazy(() => import("./Shortcuts"));
