import type { UserError } from "@/api/errors";
import type { ProviderRowFragment } from "@/gql/graphql";
import { SelectField, TextField } from "@/ui/Field";
import { fieldsOf } from "@/ui/useFields";
import { KINDS, PROVIDER_KINDS } from "./kinds";
import { type ProviderDraft, providerProblems } from "./providerDraft";

interface ProviderFieldsProps {
  draft: ProviderDraft;
  onChange: (draft: ProviderDraft) => void;
  refusals: readonly UserError[];
  /** The provider that is changed; null for a new one. */
  stored: ProviderRowFragment | null;
  /** Mistakes are named once the person has tried to go on. */
  strict: boolean;
}

export function ProviderFields({ draft, onChange, refusals, stored, strict }: ProviderFieldsProps) {
  const facts = PROVIDER_KINDS[draft.kind];
  const field = fieldsOf(draft, onChange, refusals, strict ? providerProblems(draft) : {});
  return (
    <>
      {!stored && (
        <SelectField
          label="Kind"
          hint={facts.about}
          {...field("kind")}
          options={KINDS.map((kind) => [kind, PROVIDER_KINDS[kind].label])}
        />
      )}
      <TextField label="Name" hint="Shown in model lists." {...field("name")} />
      {facts.baseUrl !== "none" && (
        <TextField
          label="Base URL"
          optional={facts.baseUrl === "optional"}
          hint={
            facts.baseUrl === "optional"
              ? "Only for a gateway or proxy. A custom base URL needs its own API key."
              : "The server's URL, up to /chat/completions."
          }
          mono
          inputMode="url"
          spellCheck={false}
          placeholder={facts.placeholder}
          {...field("baseUrl")}
        />
      )}
      {facts.takesKey && (
        <TextField
          label={stored?.hasCredentials ? "New API key" : "API key"}
          optional
          hint={
            stored?.hasCredentials
              ? "Leave empty to keep the current key."
              : "Stored encrypted and never shown again. If empty, the key in the server's environment is used, if it has one."
          }
          mono
          type="password"
          // Browsers offer to keep what looks like a password; this value tells them not to.
          autoComplete="new-password"
          data-1p-ignore
          data-lpignore="true"
          spellCheck={false}
          {...field("apiKey")}
        />
      )}
      {stored?.hasCredentials && facts.takesKey && draft.apiKey.trim() === "" && (
        <label className="flex items-center gap-2 text-sm text-ink-2">
          <input
            type="checkbox"
            className="size-3.5 accent-accent"
            checked={draft.removeKey}
            onChange={(event) => onChange({ ...draft, removeKey: event.target.checked })}
          />
          Remove the stored key
        </label>
      )}
    </>
  );
}
