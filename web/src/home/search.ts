import { oneOf, searchOf } from "@/shell/search";

export const homeSearch = searchOf({
  /** What the figures are of; 24 hours without it. */
  range: oneOf(["7d"]),
});

/** What the address of the home page holds. */
export type HomeSearch = ReturnType<typeof homeSearch>;
