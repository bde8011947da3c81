import { useState } from "react";
import { Field } from "@/ui/Field";
import { Toggles } from "@/ui/Toggles";
import { FormContext, type References } from "./context";
import type { FieldError } from "./errors";
import { readObject, writeJson } from "./json";
import { ObjectFields } from "./ObjectField";
import { type Fields, resolve, type Schema } from "./schema";

interface SettingsEditorProps {
  /** What is edited, such as "Settings of Approvals". */
  label: string;
  /** The same in a word, such as "Settings". */
  short: string;
  schema: Schema;
  /** JSON as it is typed; empty for none. */
  text: string;
  onChange: (text: string) => void;
  errors: readonly FieldError[];
  references: References;
}

const VIEWS = ["Form", "JSON"] as const;

/** An object as a form from its schema, or as JSON. What the form doesn't know stays as it is. */
export default function SettingsEditor(props: SettingsEditorProps) {
  const { label, short, schema, text, onChange, errors, references } = props;
  const read = readObject(text);
  const problem = "problem" in read ? read.problem : null;
  const [view, setView] = useState<(typeof VIEWS)[number]>(problem === null ? "Form" : "JSON");
  return (
    <section aria-label={label} className="space-y-3">
      <Toggles
        label={`${label} as`}
        options={VIEWS}
        words={(each) => each}
        pressed={(each) => each === view}
        onPress={setView}
      />
      {view === "JSON" && (
        <Field
          label={`${short} as JSON`}
          errors={problem === null ? errors.map(({ message }) => message) : [problem]}
        >
          {(control) => (
            <textarea
              {...control}
              rows={6}
              spellCheck={false}
              className="control field-sizing-content max-h-96 min-h-28 font-mono text-xs leading-5"
              placeholder="{}"
              value={text}
              onChange={(event) => onChange(event.target.value)}
            />
          )}
        </Field>
      )}
      {view === "Form" &&
        ("problem" in read ? (
          <p className="text-sm text-bad">This is not JSON yet. {read.problem}</p>
        ) : (
          <FormContext value={{ root: schema, errors, references }}>
            <ObjectFields
              schema={resolve(schema, schema)}
              value={read.value as Fields}
              path={[]}
              onChange={(value) => onChange(writeJson(value))}
            />
          </FormContext>
        ))}
    </section>
  );
}
