import { useId, useMemo } from "react";
import { fieldErrors, type UserError } from "@/api/errors";
import type { CalendarUnit, PeriodKind } from "@/gql/graphql";
import { Field } from "@/ui/Field";
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
        <Field
          label="Limit"
          hint="Turns stop before exceeding it."
          errors={problems(limit, fieldErrors(refusals, "limit"))}
        >
          {(control) => (
            <input
              {...control}
              required
              inputMode="decimal"
              autoComplete="off"
              className="control tabular-nums"
              value={limit}
              onChange={(event) => onChange({ ...draft, limit: event.target.value })}
            />
          )}
        </Field>
        <Field
          label="Soft limit"
          optional
          hint="Above it, turns pause until someone resumes them."
          errors={problems(softLimit, fieldErrors(refusals, "softLimit"))}
        >
          {(control) => (
            <input
              {...control}
              inputMode="decimal"
              autoComplete="off"
              className="control tabular-nums"
              value={softLimit}
              onChange={(event) => onChange({ ...draft, softLimit: event.target.value })}
            />
          )}
        </Field>
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
      <Field
        label="Resets"
        className="sm:col-span-2"
        errors={errors}
        {...(period.kind === "" && { hint: "Spending never resets. Top up to add more." })}
      >
        {(control) => (
          <select
            {...control}
            className="control"
            value={period.kind}
            onChange={(event) =>
              onChange({ ...period, kind: event.target.value as PeriodKind | "" })
            }
          >
            <option value="">Never</option>
            {(["CALENDAR", "ROLLING", "FIXED"] as const).map((each) => (
              <option key={each} value={each}>
                {KIND_LABELS[each]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {period.kind === "CALENDAR" && (
        <>
          <Field label="Every">
            {(control) => (
              <select
                {...control}
                className="control"
                value={period.unit}
                onChange={(event) =>
                  onChange({ ...period, unit: event.target.value as CalendarUnit })
                }
              >
                {UNITS.map((each) => (
                  <option key={each} value={each}>
                    {each.toLowerCase()}
                  </option>
                ))}
              </select>
            )}
          </Field>
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
          <Field
            label={period.kind === "FIXED" ? "Length" : "Window"}
            errors={problem === null ? [] : [problem]}
          >
            {(control) => (
              <input
                {...control}
                required
                inputMode="numeric"
                autoComplete="off"
                className="control tabular-nums"
                value={period.count}
                onChange={(event) => onChange({ ...period, count: event.target.value })}
              />
            )}
          </Field>
          <Field label="Unit">
            {(control) => (
              <select
                {...control}
                className="control"
                value={period.length}
                onChange={(event) => onChange({ ...period, length: Number(event.target.value) })}
              >
                {period.length === 1 && <option value={1}>seconds</option>}
                {LENGTH_UNITS.map(([seconds, label]) => (
                  <option key={seconds} value={seconds}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </>
      )}
    </div>
  );
}
