import type { WaitKind } from "@/gql/graphql";
import { flag, oneOf, searchOf } from "@/shell/search";

/** The kinds that people can do something about, as far as the filter offers them. */
export const INBOX_KINDS: readonly WaitKind[] = [
  "APPROVAL",
  "QUESTION",
  "CLIENT_TOOL",
  "COMPLETION",
  "BUDGET",
];

export const approvalsSearch = searchOf({
  /** Only this kind. */
  kind: oneOf(INBOX_KINDS),
  /** What was decided, in place of what is open. */
  history: flag,
});
