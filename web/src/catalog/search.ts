/** What the address of a list of agents or harnesses holds. */
export interface CatalogListSearch {
  q?: string;
  archived?: true;
}

export function catalogListSearch(search: Record<string, unknown>): CatalogListSearch {
  return {
    // The router reads `?q=42` as a number.
    ...(search.q !== undefined && search.q !== "" ? { q: String(search.q) } : {}),
    ...(search.archived === true ? { archived: true } : {}),
  };
}
