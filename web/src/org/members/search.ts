import { flag, searchOf } from "@/shell/search";

export const invitationsSearch = searchOf({
  /** The dialog for a new one is open. */
  invite: flag,
});
