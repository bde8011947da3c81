/** What the address of a history holds: the two revisions that are compared. */
export interface HistorySearch {
  from?: number;
  to?: number;
}

export function historySearch(search: Record<string, unknown>): HistorySearch {
  return {
    ...(isRevision(search.from) ? { from: search.from } : {}),
    ...(isRevision(search.to) ? { to: search.to } : {}),
  };
}

function isRevision(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

/** The history of what is not there. */
export const NO_REVISIONS = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };
