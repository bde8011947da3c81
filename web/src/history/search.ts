import { count, searchOf } from "@/shell/search";

/** The two revisions that are compared. */
export const historySearch = searchOf({ from: count, to: count });

/** What the address of a history holds. */
export type HistorySearch = ReturnType<typeof historySearch>;
