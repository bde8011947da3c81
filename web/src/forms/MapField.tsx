import { Plus, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { useForm } from "./context";
import { type FieldProps, SchemaField, useLook } from "./SchemaField";
import { type Fields, initialOf, isFields, resolve, withField } from "./schema";

/** Values by names that are free to choose. A name is fixed once it is there. */
export function MapField(props: FieldProps) {
  const { schema, value, path, onChange } = props;
  const { root } = useForm();
  const { label, hint, errors } = useLook(props);
  const [name, setName] = useState("");
  const fields = (value ?? {}) as Fields;
  const each = resolve(
    isFields(schema.additionalProperties) ? schema.additionalProperties : {},
    root,
  );
  const key = name.trim();
  const change = (next: Fields) => onChange(Object.keys(next).length === 0 ? undefined : next);
  const add = () => {
    if (key === "" || Object.hasOwn(fields, key)) return;
    setName("");
    onChange(withField(fields, key, initialOf(each, root)));
  };
  return (
    <fieldset className="min-w-0 sm:col-span-2">
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      {hint && <p className="mb-2 text-xs text-ink-3">{hint}</p>}
      {errors.length > 0 && <p className="mb-2 text-xs text-bad">{errors.join(" ")}</p>}
      {Object.entries(fields).map(([at, held]) => (
        <div key={at} className="mb-2 flex items-end gap-1">
          <div className="min-w-0 flex-1">
            <SchemaField
              schema={each}
              label={at}
              path={[...path, at]}
              value={held}
              required
              // An emptied text stays a text: the name is what is taken away.
              onChange={(next) => change(withField(fields, at, next === undefined ? "" : next))}
            />
          </div>
          <IconButton
            label={`Remove ${at}`}
            onClick={() => change(withField(fields, at, undefined))}
          >
            <X size={14} />
          </IconButton>
        </div>
      ))}
      <div className="flex gap-2">
        <input
          aria-label={`New name in ${label}`}
          placeholder="Name"
          autoComplete="off"
          className="control max-w-60"
          value={name}
          onChange={(event) => setName(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            add();
          }}
        />
        <Button onClick={add} disabled={key === "" || Object.hasOwn(fields, key)}>
          <Plus size={14} aria-hidden />
          Add
        </Button>
      </div>
    </fieldset>
  );
}
