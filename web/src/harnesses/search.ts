/** What the address of the form for a new harness holds: the harness that it begins as a child of. */
export interface NewHarnessSearch {
  parent?: string;
}

export function newHarnessSearch(search: Record<string, unknown>): NewHarnessSearch {
  return typeof search.parent === "string" && search.parent !== "" ? { parent: search.parent } : {};
}
