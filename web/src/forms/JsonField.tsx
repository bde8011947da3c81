import { useState } from "react";
import { Field } from "@/ui/Field";
import { readJson } from "./json";
import { type FieldProps, useLook } from "./SchemaField";

/** A value that no other control fits, as JSON. What isn't JSON yet stays in the field. */
export function JsonField(props: FieldProps) {
  const { value, onChange } = props;
  const { errors, ...look } = useLook(props);
  const shown = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [typed, setTyped] = useState<string | null>(null);
  const read = typed === null || typed.trim() === "" ? null : readJson(typed);
  const problem = read && "problem" in read ? [read.problem] : [];
  return (
    <Field
      {...look}
      className="sm:col-span-2"
      hint={look.hint ?? "As JSON."}
      errors={problem.length > 0 ? problem : errors}
    >
      {(control) => (
        <textarea
          {...control}
          rows={3}
          spellCheck={false}
          className="control field-sizing-content max-h-72 min-h-20 font-mono text-xs leading-5"
          value={typed ?? shown}
          onChange={({ target: { value: text } }) => {
            setTyped(text);
            if (text.trim() === "") return onChange(undefined);
            const next = readJson(text);
            if ("value" in next) onChange(next.value);
          }}
          onBlur={() => problem.length === 0 && setTyped(null)}
        />
      )}
    </Field>
  );
}
