import { useId, useMemo } from "react";
import { fieldErrors, type UserError } from "@/api/errors";
import type { PeriodKind } from "@/gql/graphql";
import { Field, SelectField, TextField } from "@/ui/Field";
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

const problems = (typed: string, refused: string[]) => {
  const problem = amountProblem(typed);
  return problem === null ? refused : [problem];
};

/** What a budget allows: for a new one, and to change one. */
export function BudgetFields({ draft, onChange, refusals }: BudgetFieldsProps) {
  const { limit, softLimit, period } = draft;
  return (
    <>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <TextField
          label="Limit"
          hint="Turns stop before exceeding it."
          errors={problems(limit, fieldErrors(refusals, "limit"))}
          required
          inputMode="decimal"
          value={limit}
          onChange={(next) => onChange({ ...draft, limit: next })}
        />
        <TextField
          label="Soft limit"
          optional
          hint="Above it, turns pause until someone resumes them."
          errors={problems(softLimit, fieldErrors(refusals, "softLimit"))}
          inputMode="decimal"
          value={softLimit}
          onChange={(next) => onChange({ ...draft, softLimit: next })}
        />
      </div>
      <PeriodFields
        period={period}
        onChange={(next) => onChange({ ...draft, period: next })}
        errors={fieldErrors(refusals, "period")}
      />
    </>
  );
}

interface PeriodFieldsProps {
  period: PeriodDraft;
  onChange: (period: PeriodDraft) => void;
  errors: readonly string[];
}

function PeriodFields({ period, onChange, errors }: PeriodFieldsProps) {
  const zones = useId();
  const suggestions = useMemo(zoneSuggestions, []);
  const lasting = period.kind === "ROLLING" || period.kind === "FIXED";
  const problem = periodProblem(period);
  return (
    <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
      <SelectField
        label="Resets"
        className="sm:col-span-2"
        errors={errors}
        {...(period.kind === "" && { hint: "Spending never resets. Top up to add more." })}
        none="Never"
        value={period.kind}
        options={PERIOD_KINDS.map((each) => [each, KIND_LABELS[each]])}
        onChange={(kind) => onChange({ ...period, kind })}
      />
      {period.kind === "CALENDAR" && (
        <>
          <SelectField
            label="Every"
            value={period.unit}
            options={UNITS.map((each) => [each, each.toLowerCase()])}
            onChange={(unit) => onChange({ ...period, unit })}
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
            errors={problem === null ? [] : [problem]}
            required
            inputMode="numeric"
            value={period.count}
            onChange={(next) => onChange({ ...period, count: next })}
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
