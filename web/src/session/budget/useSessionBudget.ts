import { useFresh, useReloadOn, useReloadOnFocus } from "@/api/useFresh";
import { SessionBudgetDocument, type SessionBudgetQuery } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";

export type BudgetCheck = SessionBudgetQuery["budgetCheck"];

/** How the session stands with its budgets, read anew with each event that may have changed it. */
export function useSessionBudget(sessionId: string, version: number) {
  const may = useMay("BUDGETS_READ");
  const { data, error, reload } = useFresh(SessionBudgetDocument, { sessionId }, !may);
  // Steps follow each other quickly, and what came before this page opened is told at once.
  useReloadOn(version, reload, 1000);
  // Other sessions spend, too, and budgets are topped up in other tabs: no event of this session tells.
  useReloadOnFocus(reload, !may);
  return {
    check: may ? (data?.budgetCheck ?? null) : null,
    error: may ? error : undefined,
    reload,
  };
}
