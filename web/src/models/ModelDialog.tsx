import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
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
  const [{ fetching, error, data }, update] = useMutation(UpdateModelDocument);
  const refusals = data?.updateModel.userErrors ?? [];
  const input = updateModelInput(draft, model);
  const valid = Object.keys(modelProblems(draft)).length === 0;

  const submit = async () => {
    if (!input) return;
    const answer = await update({ id: model.id, input });
    if (answer.data?.updateModel.model) onClose();
  };

  return (
    <FormDialog
      title={model.name}
      action="Save"
      failure={error ? describeError(error) : null}
      refusals={refusals}
      fields={MODEL_FIELDS}
      disabled={fetching || !input || !valid}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <ModelFields draft={draft} onChange={setDraft} refusals={refusals} />
    </FormDialog>
  );
}
