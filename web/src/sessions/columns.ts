import type { Change } from "@/shell/search";
import type { SessionListSearch, SORTS } from "./search";

export type ColumnKey =
  | "agent"
  | "customer"
  | "tags"
  | "status"
  | "model"
  | "cost"
  | "duration"
  | "activity"
  | "created";

type Sort = (typeof SORTS)[number];

export interface SessionColumn {
  key: ColumnKey;
  label: string;
  width: string;
  right?: true;
  /** What the server can sort by. */
  sort?: Sort;
}

/** The columns beside the title, in their order. */
export const COLUMNS: readonly SessionColumn[] = [
  { key: "agent", label: "Agent", width: "7.5rem" },
  { key: "customer", label: "Customer", width: "6.5rem" },
  { key: "tags", label: "Tags", width: "9rem" },
  { key: "status", label: "Status", width: "5.5rem" },
  { key: "model", label: "Model", width: "7.5rem" },
  { key: "cost", label: "Cost", width: "4.5rem", right: true, sort: "cost" },
  { key: "duration", label: "Last turn", width: "5.25rem", right: true, sort: "duration" },
  { key: "activity", label: "Last activity", width: "6.25rem", right: true, sort: "activity" },
  { key: "created", label: "Created", width: "6.25rem", right: true, sort: "created" },
];

/** What shows until somebody chooses: the column that the list is sorted by is among them. */
export const USUAL_COLUMNS = "agent,status,cost,duration,created";

/** The columns of a list such as `agent,cost`; unknown ones are left out. */
export function columnsOf(keys: string): SessionColumn[] {
  const chosen = keys.split(",");
  return COLUMNS.filter(({ key }) => chosen.includes(key));
}

export function withColumn(keys: string, key: ColumnKey, shown: boolean): string {
  const chosen = columnsOf(keys).map((column) => column.key);
  const next = shown ? [...chosen, key] : chosen.filter((each) => each !== key);
  // In their own order, so that the same choice is the same text. One that is none of them stands for none at all.
  return (
    COLUMNS.filter((column) => next.includes(column.key))
      .map((column) => column.key)
      .join(",") || "none"
  );
}

/** Which column a list is sorted by: the newest sessions first, unless the address says otherwise. */
export function sortingOf({ sort = "created", asc }: SessionListSearch) {
  return { sort, ascending: asc ?? false };
}

/** The address after a click on a header: the largest first, then the smallest. */
export function sortedBy(search: SessionListSearch, sort: Sort): Change<SessionListSearch> {
  const now = sortingOf(search);
  const ascending = now.sort === sort && !now.ascending;
  return { sort: sort === "created" ? undefined : sort, asc: ascending || undefined };
}
