import { FallbackModels } from "@/catalog/FallbackModels";
import { ModelOptions } from "@/catalog/ModelOptions";
import type { AgentFormOptionsQuery } from "@/gql/graphql";
import { Field } from "@/ui/Field";
import { FIELD_LABELS, type HarnessDraft } from "./draft";

interface HarnessFieldsProps {
  draft: HarnessDraft;
  onChange: (draft: HarnessDraft) => void;
  errorsOf: (field: keyof HarnessDraft) => string[];
  isNew: boolean;
  options: AgentFormOptionsQuery | undefined;
}

type TextField = Exclude<keyof HarnessDraft, "capabilities" | "fallbackModelIds">;

export function HarnessFields({ draft, onChange, errorsOf, isNew, options }: HarnessFieldsProps) {
  const field = (key: TextField) => ({ label: FIELD_LABELS[key], errors: errorsOf(key) });
  const control = (key: TextField) => ({
    className: "control",
    value: draft[key],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, [key]: event.target.value }),
  });
  const models = options?.models.nodes ?? [];
  const parents = options?.harnesses.nodes ?? [];
  return (
    <>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <Field
          {...field("name")}
          hint={
            isNew
              ? "Unique in the organization. It can't be changed later."
              : "Fixed once a harness exists."
          }
        >
          {(props) => (
            <input
              {...props}
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
          {(props) => <input {...props} {...control("displayName")} autoComplete="off" />}
        </Field>
        <Field {...field("description")} optional className="sm:col-span-2">
          {(props) => <input {...props} {...control("description")} autoComplete="off" />}
        </Field>
        <Field
          {...field("parentId")}
          optional={isNew}
          hint={
            isNew
              ? "What it inherits from: prompt, tools, model and limits. It can't be changed later."
              : "Fixed once a harness exists."
          }
        >
          {(props) => (
            <select {...props} {...control("parentId")} disabled={!isNew}>
              <option value="">None</option>
              {draft.parentId !== "" && !parents.some(({ id }) => id === draft.parentId) && (
                <option value={draft.parentId}>A harness that is not in the list</option>
              )}
              {parents.map(({ id, name, displayName }) => (
                <option key={id} value={id}>
                  {displayName} ({name})
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field {...field("modelId")} hint="Agents may choose another one.">
          {(props) => (
            <select {...props} {...control("modelId")}>
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
      <Field {...field("systemPrompt")} optional hint="Added after the prompt of the parent.">
        {(props) => (
          <textarea
            {...props}
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
          {(props) => (
            <input
              {...props}
              {...control("maxIterations")}
              inputMode="numeric"
              autoComplete="off"
              placeholder="Inherited"
            />
          )}
        </Field>
        <Field
          {...field("streamRecovery")}
          hint="What becomes of an answer whose runner dies in the middle of it."
        >
          {(props) => (
            <select {...props} {...control("streamRecovery")}>
              <option value="">Inherited, else asked again</option>
              <option value="RESTART">The model is asked again</option>
              <option value="FINALIZE">What had been said is kept</option>
            </select>
          )}
        </Field>
      </div>
    </>
  );
}
