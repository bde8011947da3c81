import type { WaitKind } from "@/gql/graphql";
import { oneOf, searchOf } from "@/shell/search";

/** The kinds that people can do something about, as far as the filter offers them. */
export const INBOX_KINDS: readonly WaitKind[] = [
  "APPROVAL",
  "QUESTION",
  "CLIENT_TOOL",
  "COMPLETION",
];

export const approvalsSearch = searchOf({
  /** Only this kind. */
  kind: oneOf(INBOX_KINDS),
});
