import { type FormEvent, type ReactNode, useState } from "react";
import { useMutation } from "urql";
import { otherErrors, type UserError } from "@/api/errors";
import { type ProviderRowFragment, UpdateProviderDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { formatDateTime } from "@/ui/format";
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
  const [saved, setSaved] = useState(false);
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [{ fetching, error }, update] = useMutation(UpdateProviderDocument);
  const input = updateProviderInput(draft, provider);
  const { name: _, ...untestable } = providerProblems(draft);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setStrict(true);
    if (!input || Object.keys(providerProblems(draft)).length > 0) return;
    const { data } = await update({ id: provider.id, input });
    setRefusals(data?.updateProvider.userErrors ?? []);
    if (!data?.updateProvider.provider) return;
    // The key that was typed is on the server now, and has no business here any more.
    setDraft(draftOfProvider(data.updateProvider.provider));
    setStrict(false);
    setSaved(true);
  };

  return (
    <form
      onSubmit={(event) => void submit(event)}
      autoComplete="off"
      className="card space-y-5 p-4"
    >
      <RequestError error={error} />
      {otherErrors(refusals, PROVIDER_FIELDS).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
      <ProviderFields
        draft={draft}
        onChange={(next) => {
          setDraft(next);
          setSaved(false);
        }}
        refusals={refusals}
        stored={provider}
        strict={strict}
      />
      {PROVIDER_KINDS[provider.kind].takesKey && (
        <KeyTest
          input={testProviderInput(draft, provider)}
          disabled={Object.keys(untestable).length > 0}
        />
      )}
      <div className="flex items-center justify-end gap-3">
        {saved && !input && (
          <span role="status" className="text-sm text-ok">
            Saved
          </span>
        )}
        <Button look="primary" type="submit" disabled={fetching || !input}>
          {fetching ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
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

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex items-start justify-between gap-4 px-3 py-2">
      <dt className="shrink-0 text-ink-3">{label}</dt>
      <dd className="min-w-0 text-right">{children}</dd>
    </div>
  );
}
