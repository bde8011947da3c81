import { searchOf, text } from "@/shell/search";

export const webhooksSearch = searchOf({
  /** The one whose deliveries are shown. */
  webhook: text,
});
