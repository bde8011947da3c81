import { fieldErrors, type UserError } from "@/api/errors";
import { Field } from "@/ui/Field";
import { type ModelDraft, modelProblems } from "./modelDraft";

interface ModelFieldsProps {
  draft: ModelDraft;
  onChange: (draft: ModelDraft) => void;
  refusals: readonly UserError[];
}

const LIMITS = [
  { key: "contextWindowTokens", label: "Context window" },
  { key: "maxOutputTokens", label: "Maximum output" },
] as const;

const PRICES = [
  { key: "priceInput", label: "Input" },
  { key: "priceOutput", label: "Output" },
  { key: "priceCacheRead", label: "Cache read" },
  { key: "priceCacheWrite", label: "Cache write" },
] as const;

/** What is known of a model beside its name. */
export function ModelFields({ draft, onChange, refusals }: ModelFieldsProps) {
  const problems = modelProblems(draft);
  const control = (key: keyof ModelDraft) => ({
    className: "control",
    autoComplete: "off",
    value: draft[key],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, [key]: event.target.value }),
  });
  const errors = (key: keyof ModelDraft) => (problems[key] ? [problems[key]] : []);
  const priceErrors = fieldErrors(refusals, "price");
  return (
    <>
      <Field label="Display name" optional errors={fieldErrors(refusals, "displayName")}>
        {(props) => <input {...props} {...control("displayName")} />}
      </Field>
      <div className="grid grid-cols-2 gap-4">
        {LIMITS.map(({ key, label }) => (
          <Field
            key={key}
            label={label}
            hint="Tokens"
            errors={[...errors(key), ...fieldErrors(refusals, key)]}
          >
            {(props) => <input {...props} {...control(key)} inputMode="numeric" />}
          </Field>
        ))}
      </div>
      <fieldset>
        <legend className="text-sm font-medium">Price</legend>
        <p className="mb-3 text-xs text-ink-3">
          US dollars per 1M tokens. Without a price, costs are shown as unknown.
        </p>
        {priceErrors.length > 0 && <p className="mb-3 text-xs text-bad">{priceErrors.join(" ")}</p>}
        <div className="grid grid-cols-2 gap-4">
          {PRICES.map(({ key, label }) => (
            <Field key={key} label={label} errors={errors(key)}>
              {(props) => <input {...props} {...control(key)} inputMode="decimal" />}
            </Field>
          ))}
        </div>
      </fieldset>
    </>
  );
}
