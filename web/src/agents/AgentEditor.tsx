import { fieldErrors } from "@/api/errors";
import { ClientTools } from "@/catalog/ClientTools";
import { namedOption } from "@/catalog/names";
import { DefinitionEditor, type EditorProps } from "@/definitions/DefinitionEditor";
import type { AgentDetailFragment } from "@/gql/graphql";
import { agentTrial } from "@/trial/versions";
import { SelectField, TextField } from "@/ui/Field";
import { AgentPreview, useAgentPreview } from "./AgentPreview";
import { type AgentDraft, FIELD_LABELS } from "./draft";

interface AgentEditorProps extends EditorProps<AgentDraft> {
  /** The agent that is shown; null for one that does not exist yet. */
  saved: AgentDetailFragment | null;
}

export function AgentEditor({ saved, ...props }: AgentEditorProps) {
  const { draft, onChange, refusals } = props;
  const preview = useAgentPreview(draft);
  return (
    <DefinitionEditor
      {...props}
      kind="agent"
      labels={FIELD_LABELS}
      harnessId={draft.harnessId}
      promptHint="Added after the harness's prompt. The preview shows both."
      modelHint="Leave it to the harness, or choose one."
      basis={({ field, options }) => (
        <SelectField
          {...field("harnessId")}
          hint="How the agent runs: its base prompt, tools and limits."
          none="Default of the organization"
          options={options?.harnesses.nodes.map(namedOption)}
        />
      )}
      own={({ field }) => <TextField {...field("tags")} optional hint="Separated by commas." />}
      more={
        <ClientTools
          tools={draft.clientTools}
          onChange={(clientTools) => onChange({ ...draft, clientTools })}
          errors={fieldErrors(refusals, "clientTools")}
        />
      }
      effective={preview.shown}
      preview={<AgentPreview {...preview} />}
      trial={agentTrial(draft, saved)}
      agentId={saved?.id ?? null}
    />
  );
}
