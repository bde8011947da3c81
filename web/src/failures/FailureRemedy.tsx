import { Link } from "@tanstack/react-router";
import { useMay } from "@/shell/viewer";
import { failureFacts } from "./failures";

const LINK = "font-medium underline underline-offset-2";

/** The way to where a failure can be put right; nothing where there is no such place, or for those who may not go there. */
export function FailureRemedy({ code }: { code: string }) {
  const maySeeProviders = useMay("PROVIDERS_READ");
  const maySeeBudgets = useMay("BUDGETS_READ");
  const mayRun = useMay("SESSIONS_WRITE");
  switch (failureFacts(code).remedy) {
    case "providers":
      if (!maySeeProviders) return null;
      return (
        <Link to="/models" className={LINK}>
          Provider settings
        </Link>
      );
    case "new-session":
      if (!mayRun) return null;
      return (
        <Link to="/sessions" search={{ new: "" }} className={LINK}>
          New session
        </Link>
      );
    case "budgets":
      if (!maySeeBudgets) return null;
      return (
        <Link to="/budgets" search={{ status: "EXHAUSTED" }} className={LINK}>
          Budgets
        </Link>
      );
    case null:
      return null;
  }
}
