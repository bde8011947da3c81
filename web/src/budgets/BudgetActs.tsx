import { useState } from "react";
import { newIdempotencyKey } from "@/api/idempotency";
import { useAction } from "@/api/useAction";
import { DisableBudgetDocument, TopUpBudgetDocument } from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";
import { addDecimals, isDecimal } from "@/money/decimal";
import { ConfirmDialog } from "@/ui/ConfirmDialog";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { fieldsOf } from "@/ui/useFields";
import { leftWords } from "./BudgetBar";
import { amountProblem } from "./draft";
import { type Budget, shortfall } from "./words";

interface ActProps {
  budget: Budget;
  onClose: () => void;
  onDone?: () => void;
}

interface TopUpProps extends ActProps {
  /** What the next call may need, where one was refused. */
  needed?: string | undefined;
}

/** Adds to what may be spent in the present period. */
export function TopUpDialog({ budget, needed, onClose, onDone }: TopUpProps) {
  const { id, currency, balance } = budget;
  const topUp = useAction(TopUpBudgetDocument);
  const [draft, setDraft] = useState({ amount: shortfall(budget, needed), description: "" });
  const { amount, description } = draft;
  const field = fieldsOf(draft, setDraft, topUp.refusals, { amount: amountProblem(amount) });
  // A second try after a lost answer counts once.
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <FormDialog
      title="Top up"
      action={topUp.busy ? "Topping up…" : "Top up"}
      done="Budget topped up"
      state={topUp}
      fields={["amount", "description"]}
      disabled={!isDecimal(amount)}
      onSubmit={async () => {
        const input = {
          budgetId: id,
          amount: amount.trim(),
          description: description.trim() || null,
          idempotencyKey,
        };
        const answer = await topUp.run({ input });
        if (answer) onDone?.();
        return answer;
      }}
      onClose={onClose}
    >
      <TextField
        label={`Amount in ${currency}`}
        hint={
          isDecimal(amount)
            ? `${formatAmount(addDecimals(balance, amount), currency)} will be available${budget.period === null ? "" : " until the budget resets"}.`
            : `${leftWords(balance, currency)}.${budget.period === null ? "" : " A top-up applies to the current period only."}`
        }
        required
        inputMode="decimal"
        {...field("amount")}
      />
      <TextField
        label="Description"
        optional
        hint="Shown in the ledger and the audit log."
        {...field("description")}
      />
    </FormDialog>
  );
}

/** Takes a budget out of force, once that is confirmed. */
export function DisableDialog({ budget, onClose, onDone }: ActProps) {
  const { id, limit, currency } = budget;
  const disable = useAction(DisableBudgetDocument);
  return (
    <ConfirmDialog
      title="Disable budget"
      action="Disable"
      state={disable}
      onConfirm={async () => {
        if (!(await disable.run({ id }))) return;
        onDone?.();
        onClose();
      }}
      onClose={onClose}
    >
      The limit of {formatAmount(limit, currency)} no longer applies, and turns waiting for it
      continue. The budget and its ledger are kept, but it can't be enabled again.
    </ConfirmDialog>
  );
}
