import { Plus, X } from "lucide-react";
import { useId } from "react";
import { Button, IconButton } from "@/ui/Button";
import { Field, SelectField, TextField } from "@/ui/Field";
import { useForm } from "./context";
import { errorsAt } from "./errors";
import { type FieldProps, useLook } from "./SchemaField";
import { choicesOf, resolve, typeOf } from "./schema";

/** One line of text, several lines, or the name of something. */
export function TextValueField(props: FieldProps) {
  const { schema, value, onChange } = props;
  const { references } = useForm();
  const look = useLook(props);
  const text = typeof value === "string" ? value : "";
  const change = (next: string) => onChange(next === "" && !schema["x-empty"] ? undefined : next);
  const named = schema["x-reference"] && references[schema["x-reference"]];
  if (named) {
    const options = named.map(({ name, displayName }) => [name, displayName] as const);
    const gone = text !== "" && !named.some(({ name }) => name === text);
    return (
      <SelectField
        {...look}
        none={noneOf(props)}
        value={text}
        options={gone ? [[text, text], ...options] : options}
        onChange={change}
      />
    );
  }
  const placeholder = exampleOf(props);
  if (schema["x-multiline"]) {
    return (
      <Field {...look} className="sm:col-span-2">
        {(control) => (
          <textarea
            {...control}
            rows={3}
            placeholder={placeholder}
            className="control field-sizing-content max-h-72 min-h-20 leading-5"
            value={text}
            onChange={(event) => change(event.target.value)}
          />
        )}
      </Field>
    );
  }
  return <TextField {...look} placeholder={placeholder} value={text} onChange={change} />;
}

/** A number. While it isn't one yet, the value is the text that was typed. */
export function NumberField(props: FieldProps) {
  const { schema, value, onChange } = props;
  const { errors, ...look } = useLook(props);
  const text = value === undefined ? "" : String(value);
  const problem = typeof value === "string" ? [NOT_A_NUMBER[typeOf(schema) ?? ""] ?? ""] : [];
  return (
    <TextField
      {...look}
      hint={withLimits(look.hint, schema.minimum, schema.maximum)}
      errors={problem.length > 0 ? problem : errors}
      inputMode={typeOf(schema) === "integer" ? "numeric" : "decimal"}
      placeholder={exampleOf(props)}
      value={text}
      onChange={(next) => onChange(numberOf(next))}
      onBlur={() => {
        const number = Number(text);
        if (typeof value === "string" && text.trim() !== "" && Number.isFinite(number)) {
          onChange(number);
        }
      }}
    />
  );
}

const NOT_A_NUMBER: Record<string, string> = {
  integer: "Enter a whole number.",
  number: "Enter a number.",
};

/** A number only where it reads as it was typed, so that "1." may become "1.5". */
function numberOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return String(Number(trimmed)) === trimmed && Number.isFinite(Number(trimmed))
    ? Number(trimmed)
    : trimmed;
}

function withLimits(hint: string | undefined, min?: number, max?: number): string | undefined {
  const limits =
    min !== undefined && max !== undefined
      ? `${format(min)} to ${format(max)}.`
      : min !== undefined
        ? `At least ${format(min)}.`
        : max !== undefined
          ? `At most ${format(max)}.`
          : undefined;
  return [hint, limits].filter((each) => each !== undefined).join(" ") || undefined;
}

const format = (number: number) => number.toLocaleString("en");

export function SwitchField(props: FieldProps) {
  const { schema, value, onChange } = props;
  const look = useLook(props);
  const { label, hint, errors } = look;
  const id = useId();
  if (schema.default === null) {
    return (
      <SelectField
        {...look}
        none={INHERITED}
        value={value === undefined ? "" : String(value)}
        options={[
          ["true", "Yes"],
          ["false", "No"],
        ]}
        onChange={(next: string) => onChange(next === "" ? undefined : next === "true")}
      />
    );
  }
  return (
    <div className="min-w-0">
      <label className="flex items-start gap-2 text-sm font-medium">
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 shrink-0 accent-accent"
          aria-describedby={id}
          aria-invalid={errors.length > 0}
          checked={value === undefined ? schema.default === true : value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
        {label}
      </label>
      <p id={id} className={`mt-1 ml-5.5 text-xs ${errors.length > 0 ? "text-bad" : "text-ink-3"}`}>
        {errors.length > 0 ? errors.join(" ") : hint}
      </p>
    </div>
  );
}

/** A choice of one: of a few they are all seen, of many one is picked. */
export function ChoiceField(props: FieldProps) {
  const { schema, value, required, onChange } = props;
  const look = useLook(props);
  const choices = choicesOf(schema) ?? [];
  const known = choices.some((choice) => choice.value === value);
  const all =
    value === undefined || known ? choices : [{ value, label: String(value) }, ...choices];
  if (schema["x-labels"] && choices.length <= 4) {
    const chosen = value === undefined ? schema.default : value;
    return <Radios look={look} choices={all} chosen={chosen} onChange={onChange} />;
  }
  return (
    <SelectField
      {...look}
      none={required && value !== undefined ? undefined : noneOf(props)}
      value={value === undefined ? "" : String(all.findIndex((each) => each.value === value))}
      options={all.map(({ label }, index) => [String(index), label] as const)}
      onChange={(index) => onChange(index === "" ? undefined : all[Number(index)]?.value)}
    />
  );
}

interface RadiosProps {
  look: ReturnType<typeof useLook>;
  choices: readonly { value: unknown; label: string }[];
  chosen: unknown;
  onChange: (value: unknown) => void;
}

function Radios({ look, choices, chosen, onChange }: RadiosProps) {
  const name = useId();
  const invalid = look.errors.length > 0;
  return (
    <fieldset className="min-w-0 sm:col-span-2" aria-describedby={`${name}-note`}>
      <legend className="mb-1.5 text-sm font-medium">{look.label}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1.5">
        {choices.map(({ value, label }) => (
          <label key={String(value)} className="flex items-start gap-2 text-sm">
            <input
              type="radio"
              name={name}
              className="mt-0.75 size-3.5 shrink-0 accent-accent"
              checked={chosen === value}
              onChange={() => onChange(value)}
            />
            {label}
          </label>
        ))}
      </div>
      <p id={`${name}-note`} className={`mt-1.5 text-xs ${invalid ? "text-bad" : "text-ink-3"}`}>
        {invalid ? look.errors.join(" ") : look.hint}
      </p>
    </fieldset>
  );
}

/** A list of texts, each on a line of its own. */
export function TextsField(props: FieldProps) {
  const { schema, value, path, onChange } = props;
  const { root, errors: all } = useForm();
  const { label, hint, errors } = useLook(props);
  const texts = (value ?? []) as string[];
  const item = schema.items ? resolve(schema.items, root) : {};
  const change = (next: string[]) => onChange(next.length === 0 ? undefined : next);
  return (
    <fieldset className="min-w-0 sm:col-span-2">
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      {hint && <p className="mb-1.5 text-xs text-ink-3">{hint}</p>}
      {errors.length > 0 && <p className="mb-1.5 text-xs text-bad">{errors.join(" ")}</p>}
      <ul className="mb-1.5 space-y-1.5">
        {texts.map((text, index) => {
          const wrong = errorsAt(all, [...path, String(index)]);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the texts are being typed, and may be equal.
            <li key={index}>
              <div className="flex items-center gap-1">
                <input
                  aria-label={`${label} ${index + 1}`}
                  aria-invalid={wrong.length > 0}
                  autoComplete="off"
                  className="control"
                  placeholder={typeof item.examples?.[0] === "string" ? item.examples[0] : ""}
                  value={text}
                  onChange={(event) => change(texts.with(index, event.target.value))}
                />
                <IconButton
                  label={`Remove ${text || `${label} ${index + 1}`}`}
                  onClick={() => change(texts.filter((_, each) => each !== index))}
                >
                  <X size={14} />
                </IconButton>
              </div>
              {wrong.length > 0 && <p className="mt-1 text-xs text-bad">{wrong.join(" ")}</p>}
            </li>
          );
        })}
      </ul>
      <Button onClick={() => onChange([...texts, ""])}>
        <Plus size={14} aria-hidden />
        Add
      </Button>
    </fieldset>
  );
}

const INHERITED = "Inherited";

/** The words for choosing nothing. */
function noneOf({ schema, required }: FieldProps): string {
  if (schema.default === undefined) return required ? "Choose one" : "None";
  if (schema.default === null) return INHERITED;
  const chosen = choicesOf(schema)?.find(({ value }) => value === schema.default);
  return `Default (${chosen?.label ?? String(schema.default)})`;
}

/** What stands in an empty control: what holds then, or else an example. */
function exampleOf({ schema }: FieldProps): string | undefined {
  if (schema.default === null) return INHERITED;
  if (schema.default !== undefined) return `Default: ${String(schema.default)}`;
  const [example] = schema.examples ?? [];
  return typeof example === "string" || typeof example === "number" ? String(example) : undefined;
}
