import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, otherErrors } from "@/api/errors";
import { CreateModelDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";
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

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!valid) return;
    const answer = await create({ input: createModelInput(draft, providerId) });
    if (answer.data?.createModel.model) onClose();
  };

  return (
    <Dialog open onClose={onClose} title="Add a model by name">
      <form onSubmit={(event) => void submit(event)} className="space-y-5 p-4">
        {error && <ErrorNote>{describeError(error)}</ErrorNote>}
        {otherErrors(refusals, MODEL_FIELDS).map((refusal) => (
          <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
        ))}
        <Field
          label="Name"
          errors={fieldErrors(refusals, "name")}
          hint="As the provider calls it. What you leave empty below is filled in where this server knows the model."
        >
          {(control) => (
            <input
              {...control}
              className="control font-mono"
              autoComplete="off"
              spellCheck={false}
              value={draft.name}
              onChange={(event) => setDraft({ ...draft, name: event.target.value })}
            />
          )}
        </Field>
        <ModelFields draft={draft} onChange={setDraft} refusals={refusals} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={fetching || !valid}>
            Add model
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
