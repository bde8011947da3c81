import { useState } from "react";
import { useAction } from "@/api/useAction";
import { CreateModelDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { fieldsOf } from "@/ui/useFields";
import { MODEL_FIELDS } from "./ModelDialog";
import { ModelFields } from "./ModelFields";
import { createModelInput, emptyModel, modelProblems } from "./modelDraft";

interface ModelByNameProps {
  providerId: string;
  onClose: () => void;
}

export function ModelByName({ providerId, onClose }: ModelByNameProps) {
  const [draft, setDraft] = useState(emptyModel);
  const create = useAction(CreateModelDocument);
  const valid = Object.keys(modelProblems(draft)).length === 0;

  return (
    <FormDialog
      title="Add a model by name"
      action="Add model"
      state={create}
      fields={MODEL_FIELDS}
      disabled={!valid}
      onSubmit={() => create.run({ input: createModelInput(draft, providerId) })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="The provider's name for it. Fields you leave empty are filled in for well-known models."
        mono
        spellCheck={false}
        {...fieldsOf(draft, setDraft, create.refusals)("name")}
      />
      <ModelFields draft={draft} onChange={setDraft} refusals={create.refusals} />
    </FormDialog>
  );
}
