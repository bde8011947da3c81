import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { SettlePaymentDocument } from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import type { Payment } from "./words";

interface SettleDialogProps {
  payment: Payment;
  onClose: () => void;
}

/** Ends a payment whose rail doesn't answer, as somebody says who has looked there. */
export function SettleDialog({ payment, onClose }: SettleDialogProps) {
  const { id, amount, currency, host } = payment;
  const [paid, setPaid] = useState<boolean | null>(null);
  const [reference, setReference] = useState("");
  const settle = useAction(SettlePaymentDocument);
  return (
    <FormDialog
      title="Settle payment"
      action="Settle"
      state={settle}
      fields={["reference"]}
      disabled={paid === null}
      onSubmit={async () => {
        if (paid === null) return;
        const input = { paid, reference: (paid && reference.trim()) || null };
        return settle.run({ id, input });
      }}
      onClose={onClose}
    >
      <p className="text-sm text-ink-2">
        Check your payment server first: {formatAmount(amount, currency)} for{" "}
        <span className="wrap-anywhere">{host}</span>. Your answer is final and recorded in the
        audit log.
      </p>
      <fieldset>
        <legend className="mb-1.5 text-sm font-medium">Outcome</legend>
        {(
          [
            [true, "Paid. The amount is charged to the budgets."],
            [false, "Not paid. The reserved amount is released."],
          ] as const
        ).map(([value, words]) => (
          <label key={words} className="flex items-start gap-2 py-0.5 text-sm">
            <input
              type="radio"
              name="paid"
              className="mt-0.75 size-3.5 shrink-0 accent-accent"
              checked={paid === value}
              onChange={() => setPaid(value)}
            />
            {words}
          </label>
        ))}
      </fieldset>
      {paid && (
        <TextField
          label="Reference"
          optional
          hint="The payment server's reference."
          errors={fieldErrors(settle.refusals, "reference")}
          value={reference}
          onChange={setReference}
        />
      )}
    </FormDialog>
  );
}
