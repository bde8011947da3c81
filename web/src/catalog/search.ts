import { flag, searchOf, text } from "@/shell/search";

export const catalogListSearch = searchOf({ q: text, archived: flag });

/** What the address of a list of agents or harnesses holds. */
export type CatalogListSearch = ReturnType<typeof catalogListSearch>;
