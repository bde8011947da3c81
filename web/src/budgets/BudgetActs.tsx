import { useState } from "react";
import { fieldErrors, otherErrors } from "@/api/errors";
import { newIdempotencyKey } from "@/api/idempotency";
import { DisableBudgetDocument, TopUpBudgetDocument } from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";
import { addDecimals, isDecimal } from "@/money/decimal";
import { ConfirmDialog } from "@/org/ConfirmDialog";
import { Field } from "@/ui/Field";
import { useAction } from "@/waits/useAction";
import { FormDialog } from "./BudgetForms";
import { amountProblem } from "./draft";
import type { Budget } from "./words";

interface ActProps {
  budget: Budget;
  onClose: () => void;
  onDone?: () => void;
}

/** Adds to what may be spent in the present period. */
export function TopUpDialog({ budget, onClose, onDone }: ActProps) {
  const { id, currency, balance } = budget;
  const [amount, setAmount] = useState("");
  const [description, setDescription] = useState("");
  // A second try after a lost answer counts once.
  const [idempotencyKey] = useState(newIdempotencyKey);
  const topUp = useAction(TopUpBudgetDocument, (data) => data.topUpBudget.userErrors);
  const problem = amountProblem(amount);
  return (
    <FormDialog
      title="Top up"
      action={topUp.busy ? "Topping up…" : "Top up"}
      failure={topUp.failure}
      refusals={otherErrors(topUp.refusals, ["amount", "description"])}
      disabled={topUp.busy || !isDecimal(amount)}
      onSubmit={async () => {
        const input = {
          budgetId: id,
          amount: amount.trim(),
          description: description.trim() || null,
          idempotencyKey,
        };
        if (!(await topUp.run({ input }))) return;
        onDone?.();
        onClose();
      }}
      onClose={onClose}
    >
      <Field
        label={`Amount in ${currency}`}
        hint={
          isDecimal(amount)
            ? `Leaves ${formatAmount(addDecimals(balance, amount), currency)} for the present period.`
            : `There is ${formatAmount(balance, currency)} left. It is for the present period alone.`
        }
        errors={problem === null ? fieldErrors(topUp.refusals, "amount") : [problem]}
      >
        {(control) => (
          <input
            {...control}
            required
            inputMode="decimal"
            autoComplete="off"
            className="control tabular-nums"
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Description"
        optional
        hint="Stands in the ledger and in the audit log."
        errors={fieldErrors(topUp.refusals, "description")}
      >
        {(control) => (
          <input
            {...control}
            autoComplete="off"
            className="control"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

/** Takes a budget out of force, once that is confirmed. */
export function DisableDialog({ budget, onClose, onDone }: ActProps) {
  const { id, limit, currency } = budget;
  const disable = useAction(DisableBudgetDocument, (data) => data.disableBudget.userErrors);
  return (
    <ConfirmDialog
      title="Disable the budget"
      action="Disable"
      busy={disable.busy}
      failure={disable.failure}
      refusals={disable.refusals}
      onConfirm={async () => {
        if (!(await disable.run({ id }))) return;
        onDone?.();
        onClose();
      }}
      onClose={onClose}
    >
      The limit of {formatAmount(limit, currency)} binds nobody any more, and turns that wait for it
      go on. The budget stays in the list with its ledger, and can't be put into force again.
    </ConfirmDialog>
  );
}
