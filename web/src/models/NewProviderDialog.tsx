import { useState } from "react";
import { useAction } from "@/api/useAction";
import { CreateProviderDocument } from "@/gql/graphql";
import { FormDialog } from "@/ui/FormDialog";
import { KeyTest } from "./KeyTest";
import { PROVIDER_KINDS } from "./kinds";
import { ProviderFields } from "./ProviderFields";
import {
  createProviderInput,
  emptyProvider,
  providerProblems,
  testProviderInput,
} from "./providerDraft";

export const PROVIDER_FIELDS = ["name", "kind", "baseUrl", "apiKey"];

interface NewProviderProps {
  onCreated: (providerId: string) => void;
  onClose: () => void;
}

/** What is typed here is kept nowhere, because it may be a key. */
export function NewProviderDialog({ onCreated, onClose }: NewProviderProps) {
  const [draft, setDraft] = useState(emptyProvider);
  const [strict, setStrict] = useState(false);
  const create = useAction(CreateProviderDocument);
  const { name: _, ...untestable } = providerProblems(draft);

  const submit = async () => {
    setStrict(true);
    if (Object.keys(providerProblems(draft)).length > 0) return;
    const answer = await create.run({ input: createProviderInput(draft) });
    if (answer?.provider) onCreated(answer.provider.id);
  };

  return (
    <FormDialog
      title="Add provider"
      action={create.busy ? "Adding…" : "Add provider"}
      state={create}
      fields={PROVIDER_FIELDS}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <ProviderFields
        draft={draft}
        onChange={setDraft}
        refusals={create.refusals}
        stored={null}
        strict={strict}
      />
      {PROVIDER_KINDS[draft.kind].takesKey && (
        <KeyTest
          input={testProviderInput(draft, null)}
          disabled={Object.keys(untestable).length > 0}
        />
      )}
    </FormDialog>
  );
}
