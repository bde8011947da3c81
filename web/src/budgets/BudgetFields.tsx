import { useId, useMemo } from "react";
import type { UserError } from "@/api/errors";
import type { PeriodKind } from "@/gql/graphql";
import { Field, SelectField, TextField } from "@/ui/Field";
import { fieldsOf } from "@/ui/useFields";
import {
  amountProblem,
  LENGTH_UNITS,
  type LimitsDraft,
  type PeriodDraft,
  periodProblem,
  zoneSuggestions,
} from "./draft";
import { KIND_LABELS, UNITS } from "./words";

/** The fields of these, for what the server says about them. */
export const LIMIT_FIELDS = ["limit", "softLimit", "period"] as const;

interface BudgetFieldsProps {
  draft: LimitsDraft;
  onChange: (draft: LimitsDraft) => void;
  refusals: readonly UserError[];
}

const PERIOD_KINDS: readonly PeriodKind[] = ["CALENDAR", "ROLLING", "FIXED"];

/** What a budget allows: for a new one, and to change one. */
export function BudgetFields({ draft, onChange, refusals }: BudgetFieldsProps) {
  const field = fieldsOf(draft, onChange, refusals, {
    limit: amountProblem(draft.limit),
    softLimit: amountProblem(draft.softLimit),
  });
  return (
    <>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <TextField
          label="Limit"
          hint="Turns stop before exceeding it."
          required
          inputMode="decimal"
          {...field("limit")}
        />
        <TextField
          label="Soft limit"
          optional
          hint="Above it, turns pause until someone resumes them."
          inputMode="decimal"
          {...field("softLimit")}
        />
      </div>
      <PeriodFields {...field("period")} />
    </>
  );
}

interface PeriodFieldsProps {
  value: PeriodDraft;
  onChange: (period: PeriodDraft) => void;
  errors: readonly string[];
}

function PeriodFields({ value: period, onChange, errors }: PeriodFieldsProps) {
  const field = fieldsOf(period, onChange, [], { count: periodProblem(period) });
  const zones = useId();
  const suggestions = useMemo(zoneSuggestions, []);
  const lasting = period.kind === "ROLLING" || period.kind === "FIXED";
  return (
    <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
      <SelectField
        label="Resets"
        className="sm:col-span-2"
        {...field("kind")}
        errors={errors}
        {...(period.kind === "" && { hint: "Spending never resets. Top up to add more." })}
        none="Never"
        options={PERIOD_KINDS.map((each) => [each, KIND_LABELS[each]])}
      />
      {period.kind === "CALENDAR" && (
        <>
          <SelectField
            label="Every"
            {...field("unit")}
            options={UNITS.map((each) => [each, each.toLowerCase()])}
          />
          <Field label="Time zone">
            {(control) => (
              <>
                <input
                  {...control}
                  required
                  list={zones}
                  autoComplete="off"
                  spellCheck={false}
                  className="control"
                  value={period.timezone}
                  onChange={(event) => onChange({ ...period, timezone: event.target.value })}
                />
                <datalist id={zones}>
                  {suggestions.map((each) => (
                    <option key={each} value={each} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
        </>
      )}
      {lasting && (
        <>
          <TextField
            label={period.kind === "FIXED" ? "Length" : "Window"}
            required
            inputMode="numeric"
            {...field("count")}
          />
          <SelectField
            label="Unit"
            value={String(period.length)}
            options={[
              ...(period.length === 1 ? [["1", "seconds"] as const] : []),
              ...LENGTH_UNITS.map(([seconds, label]) => [String(seconds), label] as const),
            ]}
            onChange={(length) => onChange({ ...period, length: Number(length) })}
          />
        </>
      )}
    </div>
  );
}
