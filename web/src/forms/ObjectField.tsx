import { Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "@/ui/Button";
import { useForm } from "./context";
import { errorsAt, hasErrors, type Path } from "./errors";
import { type FieldProps, SchemaField, useLook } from "./SchemaField";
import { type Fields, groupsOf, initialOf, type Schema, titleOf, withField } from "./schema";

/** An object within another: it can be left out as a whole, unless it is required. */
export function ObjectField(props: FieldProps) {
  const { schema, value, path, required, onChange } = props;
  const { root } = useForm();
  const { label, hint, errors } = useLook(props);
  if (value === undefined && !required) {
    return (
      <div className="sm:col-span-2">
        <Button onClick={() => onChange(initialOf(schema, root))}>
          <Plus size={14} aria-hidden />
          {label}
        </Button>
        {hint && <p className="mt-1 text-xs text-ink-3">{hint}</p>}
        {errors.length > 0 && <p className="mt-1 text-xs text-bad">{errors.join(" ")}</p>}
      </div>
    );
  }
  return (
    <fieldset className="min-w-0 rounded-md border border-line p-3 sm:col-span-2">
      <legend className="px-1 text-sm font-medium">{label}</legend>
      {hint && <p className="mb-3 text-xs text-ink-3">{hint}</p>}
      <ObjectFields
        schema={schema}
        value={(value ?? {}) as Fields}
        path={path}
        onChange={onChange}
      />
      {!required && (
        <Button
          look="ghost"
          className="mt-2"
          aria-label={`Remove: ${label}`}
          onClick={() => onChange(undefined)}
        >
          <X size={14} aria-hidden />
          Remove
        </Button>
      )}
    </fieldset>
  );
}

interface ObjectFieldsProps {
  schema: Schema;
  value: Fields;
  path: Path;
  onChange: (value: Fields) => void;
}

/** The fields of an object, by group. */
export function ObjectFields({ schema, value, path, onChange }: ObjectFieldsProps) {
  const { root, errors } = useForm();
  const unplaced = errorsAt(errors, path, (key) => Object.hasOwn(schema.properties ?? {}, key));
  return (
    <div className="space-y-5">
      {unplaced.length > 0 && (
        <p role="alert" className="text-xs text-bad">
          {unplaced.join(" ")}
        </p>
      )}
      {groupsOf(schema, root).map(({ name, properties }) => {
        const fields = properties.map(({ key, schema: each, required }) => (
          <SchemaField
            key={key}
            schema={each}
            label={titleOf(each, key)}
            path={[...path, key]}
            value={value[key]}
            required={required}
            onChange={(next) => onChange(withField(value, key, next))}
          />
        ));
        if (name === "") {
          return (
            <div key={name} className="grid items-start gap-x-4 gap-y-4 sm:grid-cols-2">
              {fields}
            </div>
          );
        }
        const group = (
          <div className="grid items-start gap-x-4 gap-y-4 sm:grid-cols-2">{fields}</div>
        );
        // Within an item few are filled in: they are out of the way until somebody wants them.
        if (path.length > 0 && properties.every(({ required }) => !required)) {
          return (
            <Fold
              key={name}
              name={name}
              filled={properties.some(({ key }) => value[key] !== undefined)}
              wrong={properties.some(({ key }) => hasErrors(errors, [...path, key]))}
            >
              {group}
            </Fold>
          );
        }
        return (
          <fieldset key={name} className="min-w-0">
            <legend className="section-title mb-2">{name}</legend>
            {group}
          </fieldset>
        );
      })}
    </div>
  );
}

interface FoldProps {
  name: string;
  /** It is open at first. */
  filled: boolean;
  /** It is open while it holds an error. */
  wrong: boolean;
  children: ReactNode;
}

function Fold({ name, filled, wrong, children }: FoldProps) {
  const [open, setOpen] = useState(filled);
  return (
    <details open={open || wrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="section-title w-fit cursor-pointer rounded">{name}</summary>
      <div className="mt-2">{children}</div>
    </details>
  );
}
