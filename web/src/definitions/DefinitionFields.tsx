import type { ReactNode } from "react";
import { FallbackModels } from "@/catalog/FallbackModels";
import { ModelOptions } from "@/catalog/ModelOptions";
import { Field, SelectField, TextField } from "@/ui/Field";
import type { Binding } from "./DefinitionEditor";
import { type DefinitionDraft, withDisplayName } from "./draft";

interface DefinitionFieldsProps<Draft> extends Binding<DefinitionDraft> {
  kind: "agent" | "harness";
  draft: Draft;
  onChange: (draft: Draft) => void;
  basis: ReactNode;
  own: ReactNode;
  promptHint: string;
  modelHint: string;
}

/** The fields that an agent and a harness have in common, with those of their own between them. */
export function DefinitionFields<Draft extends DefinitionDraft>(
  props: DefinitionFieldsProps<Draft>,
) {
  const { kind, draft, onChange, field, options, isNew } = props;
  const models = options?.models.nodes ?? [];
  const prompt = field("systemPrompt");
  return (
    <>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <TextField
          {...field("displayName")}
          {...(isNew
            ? { onChange: (name: string) => onChange(withDisplayName(draft, name)) }
            : { hint: `ID for the API: ${draft.name}` })}
        />
        {isNew && (
          <TextField
            {...field("name")}
            hint="For the API, unique in the organization. It can't be changed later."
            required
            spellCheck={false}
            mono
          />
        )}
        <TextField {...field("description")} optional className="sm:col-span-2" />
        {props.basis}
        <SelectField {...field("modelId")} hint={props.modelHint} none="Inherited">
          <ModelOptions models={models} chosen={draft.modelId} />
        </SelectField>
        <div className="sm:col-span-2">
          <FallbackModels
            models={models}
            picked={draft.fallbackModelIds}
            onChange={(fallbackModelIds) => onChange({ ...draft, fallbackModelIds })}
            errors={field("fallbackModelIds").errors}
          />
        </div>
      </div>
      <Field
        label={prompt.label}
        errors={prompt.errors}
        optional={kind === "harness"}
        hint={props.promptHint}
      >
        {(control) => (
          <textarea
            {...control}
            rows={9}
            className="control field-sizing-content min-h-44 resize-y leading-5"
            value={prompt.value}
            onChange={(event) => prompt.onChange(event.target.value)}
          />
        )}
      </Field>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <TextField
          {...field("maxIterations")}
          optional
          hint="How often the model may be asked in one turn."
          inputMode="numeric"
          placeholder="Inherited"
        />
        {props.own}
      </div>
    </>
  );
}
