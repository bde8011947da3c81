import type { BudgetStatus, BudgetSubject } from "@/gql/graphql";
import { flag, oneOf, searchOf, text } from "@/shell/search";

// Not from words.ts: the address is read with the first load, and the words come with the page.
const SUBJECTS: readonly BudgetSubject[] = ["ORG", "USER", "AGENT", "SESSION", "CUSTOMER"];
const STATUSES: readonly BudgetStatus[] = ["ACTIVE", "PAUSED", "EXHAUSTED", "DISABLED"];

const read = searchOf({
  subject: oneOf(SUBJECTS),
  /** The one agent, member, customer or session whose budgets are shown; only with its kind. */
  subjectId: text,
  status: oneOf(STATUSES),
  /** The dialog for a new budget is open, for the subject above if there is one. */
  new: flag,
});

/** What the address of the budgets holds. */
export type BudgetsSearch = ReturnType<typeof read>;

export function budgetsSearch(search: Record<string, unknown>): BudgetsSearch {
  const { subjectId, ...found } = read(search);
  return found.subject && subjectId ? { ...found, subjectId } : found;
}
