import { SelectField } from "@/ui/Field";
import { useForm } from "./context";
import { JsonField } from "./JsonField";
import { type FieldProps, SchemaField, useLook } from "./SchemaField";
import { initialOf, isFields, resolve, type Schema, titleOf, variantOf } from "./schema";

/** A value of one of several forms: first which one, then its fields. */
export function VariantsField(props: FieldProps) {
  const { schema, value, required, onChange } = props;
  const { root } = useForm();
  const look = useLook(props);
  const variants = (schema.oneOf ?? schema.anyOf ?? []).map((each) => resolve(each, root));
  const chosen = value === undefined ? -1 : variantOf(variants, value, root);
  const variant = variants[chosen];
  if (value !== undefined && !variant) return <JsonField {...props} />;
  return (
    <div className="min-w-0 space-y-3 sm:col-span-2">
      <SelectField
        {...look}
        none={required && variant ? undefined : required ? "Choose one" : "None"}
        value={variant ? String(chosen) : ""}
        options={variants.map((each, index) => [
          String(index),
          titleOf(each, each.type === undefined ? `Form ${index + 1}` : String(each.type)),
        ])}
        onChange={(index: string) =>
          onChange(index === "" ? undefined : moved(value, variant, variants[Number(index)], root))
        }
      />
      {variant && !("const" in variant) && (
        <SchemaField {...props} schema={variant} label={titleOf(variant, look.label)} required />
      )}
    </div>
  );
}

/** A value brought into another form. Fields that only the old one has go; those that neither knows stay. */
function moved(
  value: unknown,
  from: Schema | undefined,
  to: Schema | undefined,
  root: Schema,
): unknown {
  const initial = to && initialOf(to, root);
  if (!isFields(value) || !isFields(initial)) return initial;
  const constant = (key: string) => "const" in resolve(to?.properties?.[key] ?? {}, root);
  const kept = Object.entries(value).filter(
    ([key]) =>
      !constant(key) && (key in (to?.properties ?? {}) || !(key in (from?.properties ?? {}))),
  );
  return { ...initial, ...Object.fromEntries(kept) };
}
