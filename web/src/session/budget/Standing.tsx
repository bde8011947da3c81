import { Left } from "@/budgets/BudgetBar";
import type { Budget } from "@/budgets/words";
import { Amount } from "@/money/Amount";
import { addDecimals } from "@/money/decimal";

/** What is left of a budget; past its soft limit also how far. */
export function Standing({ budget }: { budget: Budget }) {
  const { status, spent, softLimit, credits, balance, currency } = budget;
  if (status !== "PAUSED" || softLimit === null) return <Left budget={budget} />;
  return (
    <>
      Spent <Amount of={spent} currency={currency} /> of the soft limit{" "}
      <Amount of={addDecimals(softLimit, credits)} currency={currency} /> ·{" "}
      <Amount of={balance} currency={currency} /> until the limit
    </>
  );
}
