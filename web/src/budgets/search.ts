import type { BudgetStatus, BudgetSubject } from "@/gql/graphql";

/** What the address of the budgets holds. */
export interface BudgetsSearch {
  subject?: BudgetSubject;
  /** The one agent, member, customer or session whose budgets are shown; only with its kind. */
  subjectId?: string;
  status?: BudgetStatus;
  /** The dialog for a new budget is open, for the subject above if there is one. */
  new?: true;
}

// Not from words.ts: the address is read with the first load, and the words come with the page.
const SUBJECTS: readonly BudgetSubject[] = ["ORG", "USER", "AGENT", "SESSION", "CUSTOMER"];
const STATUSES: readonly BudgetStatus[] = ["ACTIVE", "PAUSED", "EXHAUSTED", "DISABLED"];

export function budgetsSearch(search: Record<string, unknown>): BudgetsSearch {
  const subject = SUBJECTS.find((each) => each === search.subject);
  const status = STATUSES.find((each) => each === search.status);
  // The router reads `?subjectId=42` as a number.
  const subjectId = search.subjectId === undefined ? "" : String(search.subjectId);
  return {
    ...(subject ? { subject } : {}),
    ...(subject && subjectId !== "" ? { subjectId } : {}),
    ...(status ? { status } : {}),
    ...(search.new === true || search.new === "true" ? { new: true } : {}),
  };
}
