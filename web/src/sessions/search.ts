import type { SessionStatus } from "@/gql/graphql";

/** What the address of the list of sessions holds. */
export interface SessionListSearch {
  status?: SessionStatus;
  agent?: string;
  /** The dialog for a new session is open, with this agent chosen unless it is empty. */
  new?: string;
}

export const SESSION_STATUSES: readonly SessionStatus[] = [
  "ACTIVE",
  "WAITING",
  "PAUSED",
  "IDLE",
  "STARTED",
];

export function sessionListSearch(search: Record<string, unknown>): SessionListSearch {
  const status = SESSION_STATUSES.find((each) => each === search.status);
  return {
    ...(status ? { status } : {}),
    ...(typeof search.agent === "string" && search.agent !== "" ? { agent: search.agent } : {}),
    ...(typeof search.new === "string" ? { new: search.new } : {}),
  };
}
