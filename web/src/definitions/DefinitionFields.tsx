import type { ReactNode } from "react";
import { FallbackModels } from "@/catalog/FallbackModels";
import { ModelOptions } from "@/catalog/ModelOptions";
import type { AgentFormOptionsQuery } from "@/gql/graphql";
import { Field } from "@/ui/Field";
import { type DefinitionDraft, FIELD_LABELS, withDisplayName } from "./draft";

interface DefinitionFieldsProps<Draft> {
  kind: "agent" | "harness";
  draft: Draft;
  onChange: (draft: Draft) => void;
  errorsOf: (field: keyof DefinitionDraft) => string[];
  control: (field: keyof DefinitionDraft) => {
    className: string;
    value: string;
    onChange: (event: { target: { value: string } }) => void;
  };
  options: AgentFormOptionsQuery | undefined;
  isNew: boolean;
  basis: ReactNode;
  own: ReactNode;
  promptHint: string;
  modelHint: string;
}

/** The fields that an agent and a harness have in common, with those of their own between them. */
export function DefinitionFields<Draft extends DefinitionDraft>(
  props: DefinitionFieldsProps<Draft>,
) {
  const { kind, draft, onChange, errorsOf, control, options, isNew } = props;
  const field = (key: keyof DefinitionDraft) => ({
    label: FIELD_LABELS[key],
    errors: errorsOf(key),
  });
  const models = options?.models.nodes ?? [];
  return (
    <>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <Field
          {...field("name")}
          hint={
            isNew
              ? "Unique in the organization. It can't be changed later."
              : `Fixed once ${kind === "agent" ? "an agent" : "a harness"} exists.`
          }
        >
          {(at) => (
            <input
              {...at}
              {...control("name")}
              required
              readOnly={!isNew}
              autoComplete="off"
              spellCheck={false}
              className="control font-mono read-only:bg-sunken read-only:text-ink-3"
            />
          )}
        </Field>
        <Field {...field("displayName")} optional={isNew}>
          {(at) => (
            <input
              {...at}
              {...control("displayName")}
              onChange={({ target: { value } }) =>
                onChange(isNew ? withDisplayName(draft, value) : { ...draft, displayName: value })
              }
              autoComplete="off"
            />
          )}
        </Field>
        <Field {...field("description")} optional className="sm:col-span-2">
          {(at) => <input {...at} {...control("description")} autoComplete="off" />}
        </Field>
        {props.basis}
        <Field {...field("modelId")} hint={props.modelHint}>
          {(at) => (
            <select {...at} {...control("modelId")}>
              <option value="">Inherited</option>
              <ModelOptions models={models} chosen={draft.modelId} />
            </select>
          )}
        </Field>
        <div className="sm:col-span-2">
          <FallbackModels
            models={models}
            picked={draft.fallbackModelIds}
            onChange={(fallbackModelIds) => onChange({ ...draft, fallbackModelIds })}
            errors={errorsOf("fallbackModelIds")}
          />
        </div>
      </div>
      <Field {...field("systemPrompt")} optional={kind === "harness"} hint={props.promptHint}>
        {(at) => (
          <textarea
            {...at}
            {...control("systemPrompt")}
            rows={9}
            className="control field-sizing-content min-h-44 resize-y leading-5"
          />
        )}
      </Field>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <Field
          {...field("maxIterations")}
          optional
          hint="How often the model may be asked in one turn."
        >
          {(at) => (
            <input
              {...at}
              {...control("maxIterations")}
              inputMode="numeric"
              autoComplete="off"
              placeholder="Inherited"
            />
          )}
        </Field>
        {props.own}
      </div>
    </>
  );
}
