import { useState } from "react";
import { useAction } from "@/api/useAction";
import { type ProviderRowFragment, UpdateProviderDocument } from "@/gql/graphql";
import { Fact } from "@/ui/Fact";
import { formatDateTime } from "@/ui/format";
import { SaveForm } from "@/ui/SaveForm";
import { KeyTest } from "./KeyTest";
import { PROVIDER_KINDS } from "./kinds";
import { PROVIDER_FIELDS } from "./NewProviderDialog";
import { ProviderFields } from "./ProviderFields";
import {
  draftOfProvider,
  providerProblems,
  testProviderInput,
  updateProviderInput,
} from "./providerDraft";

interface ProviderSettingsProps {
  provider: ProviderRowFragment;
  editable: boolean;
}

export function ProviderSettings({ provider, editable }: ProviderSettingsProps) {
  return (
    <section aria-labelledby="provider-settings" className="min-w-0">
      <h2 id="provider-settings" className="mb-2 text-sm font-medium">
        Settings
      </h2>
      {editable ? <SettingsForm provider={provider} /> : <SettingsFacts provider={provider} />}
    </section>
  );
}

function SettingsForm({ provider }: { provider: ProviderRowFragment }) {
  const [draft, setDraft] = useState(() => draftOfProvider(provider));
  const [strict, setStrict] = useState(false);
  const update = useAction(UpdateProviderDocument);
  const input = updateProviderInput(draft, provider);
  const { name: _, ...untestable } = providerProblems(draft);

  const save = async () => {
    setStrict(true);
    if (!input || Object.keys(providerProblems(draft)).length > 0) return false;
    const answer = await update.run({ id: provider.id, input });
    if (!answer?.provider) return false;
    // The key that was typed is on the server now, and has no business here any more.
    setDraft(draftOfProvider(answer.provider));
    setStrict(false);
    return true;
  };

  return (
    <SaveForm state={update} fields={PROVIDER_FIELDS} changed={input !== null} onSubmit={save}>
      <ProviderFields
        draft={draft}
        onChange={setDraft}
        refusals={update.refusals}
        stored={provider}
        strict={strict}
      />
      {PROVIDER_KINDS[provider.kind].takesKey && (
        <KeyTest
          input={testProviderInput(draft, provider)}
          disabled={Object.keys(untestable).length > 0}
        />
      )}
    </SaveForm>
  );
}

function SettingsFacts({ provider }: { provider: ProviderRowFragment }) {
  return (
    <dl className="card divide-y divide-line text-sm">
      <Fact label="Kind">{PROVIDER_KINDS[provider.kind].label}</Fact>
      {provider.baseUrl !== null && (
        <Fact label="Base URL">
          <span className="font-mono text-xs wrap-anywhere">{provider.baseUrl}</span>
        </Fact>
      )}
      <Fact label="Added">{formatDateTime(provider.createdAt)}</Fact>
    </dl>
  );
}
