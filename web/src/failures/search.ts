import { oneOf, searchOf, trimmed } from "@/shell/search";

export const failuresSearch = searchOf({
  /** 7 days without it. */
  range: oneOf(["24h", "30d", "90d"]),
  /** Only turns that failed with this code are listed. */
  code: trimmed,
});

/** What the address of the failures holds. */
export type FailuresSearch = ReturnType<typeof failuresSearch>;
