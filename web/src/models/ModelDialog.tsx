import { useState } from "react";
import { useAction } from "@/api/useAction";
import { type ModelRowFragment, UpdateModelDocument } from "@/gql/graphql";
import { FormDialog } from "@/ui/FormDialog";
import { ModelFields } from "./ModelFields";
import { draftOfModel, modelProblems, updateModelInput } from "./modelDraft";

export const MODEL_FIELDS = [
  "name",
  "displayName",
  "contextWindowTokens",
  "maxOutputTokens",
  "price",
];

interface ModelDialogProps {
  model: ModelRowFragment;
  onClose: () => void;
}

export function ModelDialog({ model, onClose }: ModelDialogProps) {
  const [draft, setDraft] = useState(() => draftOfModel(model));
  const update = useAction(UpdateModelDocument);
  const input = updateModelInput(draft, model);
  const valid = Object.keys(modelProblems(draft)).length === 0;

  return (
    <FormDialog
      title={model.name}
      action="Save"
      done="Saved"
      state={update}
      fields={MODEL_FIELDS}
      disabled={!input || !valid}
      onSubmit={() => input && update.run({ id: model.id, input })}
      onClose={onClose}
    >
      <ModelFields draft={draft} onChange={setDraft} refusals={update.refusals} />
    </FormDialog>
  );
}
