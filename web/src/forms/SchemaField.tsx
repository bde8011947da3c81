import { useForm } from "./context";
import { ChoiceField, NumberField, SwitchField, TextsField, TextValueField } from "./controls";
import { errorsAt, type Path } from "./errors";
import { JsonField } from "./JsonField";
import { ListField } from "./ListField";
import { MapField } from "./MapField";
import { ObjectField } from "./ObjectField";
import { ReferencesField } from "./ReferencesField";
import { kindOf, resolve, type Schema, titleOf } from "./schema";
import { VariantsField } from "./VariantsField";

export interface FieldProps {
  /** Resolved: it is no reference. */
  schema: Schema;
  label: string;
  path: Path;
  /** Undefined when there is none. */
  value: unknown;
  required: boolean;
  /** Gets undefined to take it away. */
  onChange: (value: unknown) => void;
}

/** The control that fits a value and its schema. */
export function SchemaField(props: FieldProps) {
  const { root } = useForm();
  const { schema, value } = props;
  switch (kindOf(schema, value, root)) {
    case "object":
      return <ObjectField {...props} />;
    case "map":
      return <MapField {...props} />;
    case "list":
      return <ListField {...props} />;
    case "texts":
      return schema.items && resolve(schema.items, root)["x-reference"] ? (
        <ReferencesField {...props} />
      ) : (
        <TextsField {...props} />
      );
    case "choice":
      return <ChoiceField {...props} />;
    case "variants":
      return <VariantsField {...props} />;
    case "switch":
      return <SwitchField {...props} />;
    case "number":
      return <NumberField {...props} />;
    case "text":
      return <TextValueField {...props} />;
    case "json":
      return <JsonField {...props} />;
  }
}

/** What the frame of a control is given. */
export function useLook({ schema, label, path, required }: FieldProps) {
  const { errors } = useForm();
  return {
    label: label || titleOf(schema, path.at(-1) ?? ""),
    hint: schema.description,
    optional: !required,
    errors: errorsAt(errors, path),
  };
}
