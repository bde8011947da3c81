import { fieldErrors, type UserError } from "@/api/errors";
import { TextField } from "@/ui/Field";
import { fieldsOf } from "@/ui/useFields";
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
  const field = fieldsOf(draft, onChange, refusals, modelProblems(draft));
  const priceErrors = fieldErrors(refusals, "price");
  return (
    <>
      <TextField label="Display name" optional {...field("displayName")} />
      <div className="grid grid-cols-2 gap-4">
        {LIMITS.map(({ key, label }) => (
          <TextField key={key} label={label} hint="Tokens" {...field(key)} inputMode="numeric" />
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
            <TextField key={key} label={label} {...field(key)} inputMode="decimal" />
          ))}
        </div>
      </fieldset>
    </>
  );
}
