/** What the address of the list of agents holds. */
export interface AgentListSearch {
  q?: string;
  archived?: true;
}

export function agentListSearch(search: Record<string, unknown>): AgentListSearch {
  return {
    // The router reads `?q=42` as a number.
    ...(search.q !== undefined && search.q !== "" ? { q: String(search.q) } : {}),
    ...(search.archived === true ? { archived: true } : {}),
  };
}
