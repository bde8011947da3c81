import { fieldErrors } from "@/api/errors";
import { FallbackModels } from "@/catalog/FallbackModels";
import { ModelOptions } from "@/catalog/ModelOptions";
import type { AgentFormOptionsQuery } from "@/gql/graphql";
import { Field } from "@/ui/Field";
import type { AgentEditorProps } from "./AgentEditor";
import type { AgentDraft } from "./draft";
import { FIELD_LABELS, INPUT_NAMES } from "./fields";

interface AgentFieldsProps extends AgentEditorProps {
  options: AgentFormOptionsQuery | undefined;
}

type TextField = Exclude<keyof AgentDraft, "capabilities" | "clientTools" | "fallbackModelIds">;

export function AgentFields({
  draft,
  onChange,
  refusals,
  problems,
  mode,
  options,
}: AgentFieldsProps) {
  const field = (key: TextField) => ({
    label: FIELD_LABELS[key],
    errors: [...(problems[key] ? [problems[key]] : []), ...fieldErrors(refusals, INPUT_NAMES[key])],
  });
  const control = (key: TextField) => ({
    className: "control",
    value: draft[key],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, [key]: event.target.value }),
  });

  return (
    <>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        <Field
          {...field("name")}
          hint={
            mode === "create"
              ? "Unique in the organization. It can't be changed later."
              : "Fixed once an agent exists."
          }
        >
          {(props) => (
            <input
              {...props}
              {...control("name")}
              required
              readOnly={mode !== "create"}
              autoComplete="off"
              spellCheck={false}
              className="control font-mono read-only:bg-sunken read-only:text-ink-3"
            />
          )}
        </Field>
        <Field {...field("displayName")} optional={mode === "create"}>
          {(props) => <input {...props} {...control("displayName")} autoComplete="off" />}
        </Field>
        <Field {...field("description")} optional className="sm:col-span-2">
          {(props) => <input {...props} {...control("description")} autoComplete="off" />}
        </Field>
        <Field
          {...field("harnessId")}
          hint="How the agent runs: its base prompt, tools and limits."
        >
          {(props) => (
            <select {...props} {...control("harnessId")}>
              <option value="">Default of the organization</option>
              {options?.harnesses.nodes.map(({ id, name, displayName }) => (
                <option key={id} value={id}>
                  {displayName} ({name})
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field {...field("modelId")} hint="Leave it to the harness, or choose one.">
          {(props) => (
            <select {...props} {...control("modelId")}>
              <option value="">Inherited</option>
              <ModelOptions models={options?.models.nodes ?? []} chosen={draft.modelId} />
            </select>
          )}
        </Field>
        <div className="sm:col-span-2">
          <FallbackModels
            models={options?.models.nodes ?? []}
            picked={draft.fallbackModelIds}
            onChange={(fallbackModelIds) => onChange({ ...draft, fallbackModelIds })}
            errors={fieldErrors(refusals, INPUT_NAMES.fallbackModelIds)}
          />
        </div>
      </div>
      <Field
        {...field("systemPrompt")}
        hint="Added after the prompt of the harness. The preview shows the whole."
      >
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
        <Field {...field("tags")} optional hint="Separated by commas.">
          {(props) => <input {...props} {...control("tags")} autoComplete="off" />}
        </Field>
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
      </div>
    </>
  );
}
