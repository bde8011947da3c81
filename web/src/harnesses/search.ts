import { searchOf, text } from "@/shell/search";

export const newHarnessSearch = searchOf({
  /** The harness that a new one begins as a child of. */
  parent: text,
});
