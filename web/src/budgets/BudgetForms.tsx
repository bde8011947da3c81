import { useId, useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { CreateBudgetDocument, UpdateBudgetDocument } from "@/gql/graphql";
import { currencyName, OWN_CURRENCIES } from "@/money/amounts";
import { useViewer } from "@/shell/viewer";
import { Field } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { fieldsOf } from "@/ui/useFields";
import { BudgetFields, LIMIT_FIELDS } from "./BudgetFields";
import {
  createBudgetInput,
  type LimitsDraft,
  type NewBudgetDraft,
  NO_PERIOD,
  periodDraft,
  updateBudgetInput,
  viewerZone,
} from "./draft";
import { SubjectPicker } from "./SubjectPicker";
import type { BudgetsSearch } from "./search";
import type { Budget } from "./words";

interface NewBudgetProps {
  /** Whom it is for, where that is known already. */
  forWhom: Pick<BudgetsSearch, "subject" | "subjectId">;
  onClose: () => void;
}

export function NewBudgetDialog({ forWhom, onClose }: NewBudgetProps) {
  const { org } = useViewer();
  const subject = forWhom.subject ?? "ORG";
  const [draft, setDraft] = useState<NewBudgetDraft>({
    subject,
    subjectId: forWhom.subjectId ?? (subject === "ORG" ? org.id : ""),
    currency: "usd",
    limit: "",
    softLimit: "",
    period: { ...NO_PERIOD, kind: "CALENDAR", timezone: viewerZone() },
  });
  const create = useAction(CreateBudgetDocument);
  const input = createBudgetInput(draft);
  return (
    <FormDialog
      title="New budget"
      action="Create budget"
      state={create}
      fields={["subject", "subjectId", "currency", ...LIMIT_FIELDS]}
      disabled={input === null}
      onSubmit={() => input && create.run({ input })}
      onClose={onClose}
    >
      <SubjectPicker
        subject={draft.subject}
        value={draft.subjectId}
        onChange={(next, subjectId) => setDraft({ ...draft, subject: next, subjectId })}
        errors={[
          ...fieldErrors(create.refusals, "subject"),
          ...fieldErrors(create.refusals, "subjectId"),
        ]}
      />
      <CurrencyField {...fieldsOf(draft, setDraft, create.refusals)("currency")} />
      <BudgetFields
        draft={draft}
        onChange={(limits) => setDraft({ ...draft, ...limits })}
        refusals={create.refusals}
      />
    </FormDialog>
  );
}

interface CurrencyFieldProps {
  value: string;
  onChange: (currency: string) => void;
  errors: readonly string[];
}

function CurrencyField({ value, onChange, errors }: CurrencyFieldProps) {
  const list = useId();
  return (
    <Field
      label="Currency"
      hint="usd, tokens, credits, tool_calls, or a custom unit that your tools report."
      errors={errors}
    >
      {(control) => (
        <>
          <input
            {...control}
            required
            list={list}
            autoComplete="off"
            spellCheck={false}
            className="control"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
          <datalist id={list}>
            {OWN_CURRENCIES.map((each) => (
              <option key={each} value={each}>
                {currencyName(each)}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

interface EditBudgetProps {
  budget: Budget;
  onClose: () => void;
}

export function EditBudgetDialog({ budget, onClose }: EditBudgetProps) {
  const [stored] = useState(budget);
  const [draft, setDraft] = useState<LimitsDraft>({
    limit: stored.limit,
    softLimit: stored.softLimit ?? "",
    period: periodDraft(stored.period, viewerZone()),
  });
  const update = useAction(UpdateBudgetDocument);
  const input = updateBudgetInput(draft, stored);
  return (
    <FormDialog
      title={`Edit ${stored.currency} budget`}
      action="Save"
      done="Saved"
      state={update}
      fields={LIMIT_FIELDS}
      disabled={input === null}
      onSubmit={() => input && update.run({ id: stored.id, input })}
      onClose={onClose}
    >
      <BudgetFields draft={draft} onChange={setDraft} refusals={update.refusals} />
      {input?.period !== undefined && (
        <p role="status" className="text-sm text-warn">
          Changing the period resets the budget: spending and top-ups start at zero.
        </p>
      )}
    </FormDialog>
  );
}
