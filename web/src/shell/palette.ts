import { lazy } from "@/api/reachable";

/** The command palette, loaded when it is first opened. */
export const Palette = lazy(() => import("./CommandPalette"));
