import type { WaitKind } from "@/gql/graphql";

/** What the address of the inbox holds. */
export interface ApprovalsSearch {
  /** Only this kind. */
  kind?: WaitKind;
}

/** The kinds that people can do something about, as far as the filter offers them. */
export const INBOX_KINDS: readonly WaitKind[] = [
  "APPROVAL",
  "QUESTION",
  "CLIENT_TOOL",
  "COMPLETION",
];

export function approvalsSearch(search: Record<string, unknown>): ApprovalsSearch {
  const kind = INBOX_KINDS.find((each) => each === search.kind);
  return kind ? { kind } : {};
}
