import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors } from "@/api/errors";
import { CreateModelDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { MODEL_FIELDS } from "./ModelDialog";
import { ModelFields } from "./ModelFields";
import { createModelInput, emptyModel, modelProblems } from "./modelDraft";

interface ModelByNameProps {
  providerId: string;
  onClose: () => void;
}

export function ModelByName({ providerId, onClose }: ModelByNameProps) {
  const [draft, setDraft] = useState(emptyModel);
  const [{ fetching, error, data }, create] = useMutation(CreateModelDocument);
  const refusals = data?.createModel.userErrors ?? [];
  const valid = Object.keys(modelProblems(draft)).length === 0;

  const submit = async () => {
    const answer = await create({ input: createModelInput(draft, providerId) });
    if (answer.data?.createModel.model) onClose();
  };

  return (
    <FormDialog
      title="Add a model by name"
      action="Add model"
      failure={error ? describeError(error) : null}
      refusals={refusals}
      fields={MODEL_FIELDS}
      disabled={fetching || !valid}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        errors={fieldErrors(refusals, "name")}
        hint="The provider's name for it. Fields you leave empty are filled in for well-known models."
        mono
        spellCheck={false}
        value={draft.name}
        onChange={(next) => setDraft({ ...draft, name: next })}
      />
      <ModelFields draft={draft} onChange={setDraft} refusals={refusals} />
    </FormDialog>
  );
}
