import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { describeError, otherErrors, type UserError } from "@/api/errors";
import { CreateProviderDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
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

/** What is typed here is kept nowhere, because it may be a key. */
export function NewProviderForm({ onCreated }: { onCreated: (providerId: string) => void }) {
  const [draft, setDraft] = useState(emptyProvider);
  const [strict, setStrict] = useState(false);
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [{ fetching, error }, create] = useMutation(CreateProviderDocument);
  const { name: _, ...untestable } = providerProblems(draft);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setStrict(true);
    if (Object.keys(providerProblems(draft)).length > 0) return;
    const { data } = await create({ input: createProviderInput(draft) });
    setRefusals(data?.createProvider.userErrors ?? []);
    if (data?.createProvider.provider) onCreated(data.createProvider.provider.id);
  };

  return (
    <form onSubmit={(event) => void submit(event)} autoComplete="off" className="space-y-5 p-4">
      {error && <ErrorNote>{describeError(error)}</ErrorNote>}
      {otherErrors(refusals, PROVIDER_FIELDS).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
      <ProviderFields
        draft={draft}
        onChange={setDraft}
        refusals={refusals}
        stored={null}
        strict={strict}
      />
      {PROVIDER_KINDS[draft.kind].takesKey && (
        <KeyTest
          input={testProviderInput(draft, null)}
          disabled={Object.keys(untestable).length > 0}
        />
      )}
      <div className="flex justify-end">
        <Button look="primary" type="submit" disabled={fetching}>
          {fetching ? "Adding…" : "Add provider"}
        </Button>
      </div>
    </form>
  );
}
