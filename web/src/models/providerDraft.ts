import { changesOf } from "@/api/changes";
import type {
  CreateProviderInput,
  ProviderKind,
  ProviderRowFragment,
  TestProviderInput,
  UpdateProviderInput,
} from "@/gql/graphql";
import { PROVIDER_KINDS } from "./kinds";

/** A provider as the form holds it. The key is only what was typed: the one that is stored never comes back. */
export interface ProviderDraft {
  kind: ProviderKind;
  name: string;
  baseUrl: string;
  apiKey: string;
  /** The stored key is to be taken away. */
  removeKey: boolean;
}

export const emptyProvider: ProviderDraft = {
  kind: "ANTHROPIC",
  name: "",
  baseUrl: "",
  apiKey: "",
  removeKey: false,
};

export function draftOfProvider(provider: ProviderRowFragment): ProviderDraft {
  const { kind, name } = provider;
  return { kind, name, baseUrl: provider.baseUrl ?? "", apiKey: "", removeKey: false };
}

export function createProviderInput(draft: ProviderDraft): CreateProviderInput {
  const { kind, name } = draft;
  const { baseUrl, takesKey } = PROVIDER_KINDS[kind];
  return {
    kind,
    name: name.trim(),
    baseUrl: baseUrl === "none" ? null : urlOf(draft),
    apiKey: takesKey ? keyOf(draft) : null,
  };
}

/** Null when nothing differs from what is stored. */
export function updateProviderInput(
  draft: ProviderDraft,
  stored: ProviderRowFragment,
): UpdateProviderInput | null {
  const apiKey = keyOf(draft);
  return changesOf(
    {
      name: draft.name.trim(),
      baseUrl: urlOf(draft),
      ...(apiKey !== null || draft.removeKey ? { apiKey } : {}),
    },
    { ...stored, apiKey: undefined },
  );
}

/** The test of what is typed, before it is saved. */
export function testProviderInput(
  draft: ProviderDraft,
  stored: ProviderRowFragment | null,
): TestProviderInput {
  const apiKey = keyOf(draft);
  if (!stored) return { kind: draft.kind, baseUrl: urlOf(draft), apiKey };
  return {
    id: stored.id,
    ...(urlOf(draft) === stored.baseUrl ? {} : { baseUrl: urlOf(draft) }),
    ...(apiKey === null ? {} : { apiKey }),
  };
}

/** What is wrong with a draft before it is even sent, by field. */
export function providerProblems(
  draft: ProviderDraft,
): Partial<Record<"name" | "baseUrl" | "apiKey", string>> {
  const { baseUrl } = PROVIDER_KINDS[draft.kind];
  const url = urlOf(draft);
  return {
    ...(draft.name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(baseUrl === "required" && url === null ? { baseUrl: "Enter a base URL." } : {}),
    ...(url !== null && !isHttp(url)
      ? { baseUrl: "A base URL starts with https:// or http://." }
      : {}),
    ...(/\s/.test(draft.apiKey.trim())
      ? { apiKey: "A key can't contain spaces or line breaks." }
      : {}),
  };
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function urlOf(draft: ProviderDraft): string | null {
  return draft.baseUrl.trim() || null;
}

function keyOf(draft: ProviderDraft): string | null {
  return draft.apiKey.trim() || null;
}
