import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { describeError, otherErrors } from "@/api/errors";
import { type ModelRowFragment, UpdateModelDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
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

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!input || !valid) return;
    const answer = await update({ id: model.id, input });
    if (answer.data?.updateModel.model) onClose();
  };

  return (
    <Dialog open onClose={onClose} title={model.name}>
      <form onSubmit={(event) => void submit(event)} className="space-y-5 p-4">
        {error && <ErrorNote>{describeError(error)}</ErrorNote>}
        {otherErrors(refusals, MODEL_FIELDS).map((refusal) => (
          <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
        ))}
        <ModelFields draft={draft} onChange={setDraft} refusals={refusals} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={fetching || !input || !valid}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
