import { Link } from "@tanstack/react-router";
import { namedOption } from "@/catalog/names";
import { DefinitionEditor, type EditorProps } from "@/definitions/DefinitionEditor";
import type { HarnessDetailFragment } from "@/gql/graphql";
import { harnessTrial } from "@/trial/versions";
import { SelectField } from "@/ui/Field";
import { FIELD_LABELS, type HarnessDraft } from "./draft";
import { HarnessPreview, useHarnessPreview } from "./HarnessPreview";

interface HarnessEditorProps extends EditorProps<HarnessDraft> {
  /** The harness that is shown; null for one that does not exist yet. */
  saved: HarnessDetailFragment | null;
}

export function HarnessEditor({ saved, ...props }: HarnessEditorProps) {
  const { parentId } = props.draft;
  const preview = useHarnessPreview(saved, parentId);
  return (
    <DefinitionEditor
      {...props}
      kind="harness"
      labels={FIELD_LABELS}
      harnessId={parentId}
      promptHint="Added after the prompt of the parent."
      modelHint="Agents may choose another one."
      notice={
        saved?.builtIn && (
          <p className="mb-5 rounded-md border border-line bg-sunken px-3 py-2 text-sm text-ink-2">
            This harness ships with the server and can't be changed.{" "}
            <Link
              to="/harnesses/new"
              search={{ parent: saved.id }}
              className="font-medium underline underline-offset-2"
            >
              Create a harness from it
            </Link>{" "}
            to add to it.
          </p>
        )
      }
      basis={({ field, options, isNew }) => {
        const parents = options?.harnesses.nodes ?? [];
        return (
          <SelectField
            {...field("parentId")}
            optional={isNew}
            disabled={!isNew}
            hint={
              isNew
                ? "What it inherits from: prompt, tools, model and limits. It can't be changed later."
                : "Fixed once a harness exists."
            }
            none="None"
            options={parents.map(namedOption)}
          >
            {parentId !== "" && !parents.some(({ id }) => id === parentId) && (
              <option value={parentId}>A harness that is not in the list</option>
            )}
          </SelectField>
        );
      }}
      own={({ field }) => (
        <SelectField
          {...field("streamRecovery")}
          hint="What becomes of an answer whose runner dies in the middle of it."
          none="Inherited, else asked again"
          options={[
            ["RESTART", "The model is asked again"],
            ["FINALIZE", "What had been said is kept"],
          ]}
        />
      )}
      effective={preview.config ?? null}
      preview={<HarnessPreview {...preview} saved={saved !== null} />}
      trial={harnessTrial(props.draft, saved)}
      agentId={null}
    />
  );
}
