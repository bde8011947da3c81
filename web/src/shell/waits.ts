import { createContext, useContext } from "react";

/** What the shell knows of all that waits in the organization. */
export interface Waits {
  /** Grows whenever it may have changed, so that lists of it are to be read anew. */
  version: number;
  /** Null until it is known, and where there are too many to count. */
  count: number | null;
}

export const WaitsContext = createContext<Waits>({ version: 0, count: null });

export function useWaits(): Waits {
  return useContext(WaitsContext);
}
