import { fieldErrors } from "@/api/errors";
import { ClientTools } from "@/catalog/ClientTools";
import { DefinitionEditor, type EditorProps } from "@/definitions/DefinitionEditor";
import { Field } from "@/ui/Field";
import { AgentPreview } from "./AgentPreview";
import { type AgentDraft, FIELD_LABELS } from "./draft";

export function AgentEditor(props: EditorProps<AgentDraft>) {
  const { draft, onChange, refusals } = props;
  return (
    <DefinitionEditor
      {...props}
      kind="agent"
      harnessId={draft.harnessId}
      promptHint="Added after the prompt of the harness. The preview shows the whole."
      modelHint="Leave it to the harness, or choose one."
      basis={({ errorsOf, control, options }) => (
        <Field
          label={FIELD_LABELS.harnessId}
          errors={errorsOf("harnessId")}
          hint="How the agent runs: its base prompt, tools and limits."
        >
          {(at) => (
            <select {...at} {...control("harnessId")}>
              <option value="">Default of the organization</option>
              {options?.harnesses.nodes.map(({ id, name, displayName }) => (
                <option key={id} value={id}>
                  {displayName} ({name})
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      own={({ errorsOf, control }) => (
        <Field
          label={FIELD_LABELS.tags}
          errors={errorsOf("tags")}
          optional
          hint="Separated by commas."
        >
          {(at) => <input {...at} {...control("tags")} autoComplete="off" />}
        </Field>
      )}
      more={
        <ClientTools
          tools={draft.clientTools}
          onChange={(clientTools) => onChange({ ...draft, clientTools })}
          errors={fieldErrors(refusals, "clientTools")}
        />
      }
      preview={<AgentPreview draft={draft} />}
    />
  );
}
