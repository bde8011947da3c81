import { useEffect, useRef } from "react";
import { useQuery } from "urql";
import { SessionBudgetDocument, type SessionBudgetQuery } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { useReloadOn } from "../panels/useReloadOn";

export type BudgetCheck = SessionBudgetQuery["budgetCheck"];

/** How the session stands with its budgets, read anew with each event that may have changed it. */
export function useSessionBudget(sessionId: string, version: number) {
  const may = useMay("BUDGETS_READ");
  const [{ data, error }, reload] = useQuery({
    query: SessionBudgetDocument,
    variables: { sessionId },
    requestPolicy: "cache-and-network",
    pause: !may,
  });
  useReloadOn(version, reload);
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (!may) return;
    // Other sessions spend, too, and budgets are topped up in other tabs: no event of this session tells.
    const onFocus = () => latest.current({ requestPolicy: "network-only" });
    window.addEventListener("focus", onFocus);
    return () => window.removeEventListener("focus", onFocus);
  }, [may]);
  return {
    check: may ? (data?.budgetCheck ?? null) : null,
    error: may ? error : undefined,
    reload: () => reload({ requestPolicy: "network-only" }),
  };
}
