import type { OrgSettingsFragment, UpdateOrgInput } from "@/gql/graphql";

/** The settings as the form holds them; an empty id is no default. */
export interface OrgDraft {
  name: string;
  defaultHarnessId: string;
  defaultModelId: string;
  /** "yes" or "no", as a field for choices holds it. */
  allowUnpricedModels: string;
}

export function draftOfOrg(org: OrgSettingsFragment): OrgDraft {
  return {
    name: org.name,
    defaultHarnessId: org.defaultHarness?.id ?? "",
    defaultModelId: org.defaultModel?.id ?? "",
    allowUnpricedModels: org.allowUnpricedModels ? "yes" : "no",
  };
}

/** Only what differs from what is stored, so that what others changed meanwhile stays; null when nothing does. */
export function updateOrgInput(draft: OrgDraft, org: OrgSettingsFragment): UpdateOrgInput | null {
  const stored = draftOfOrg(org);
  const name = draft.name.trim();
  const input: UpdateOrgInput = {
    ...(name === stored.name ? {} : { name }),
    ...(draft.defaultHarnessId === stored.defaultHarnessId
      ? {}
      : { defaultHarnessId: draft.defaultHarnessId || null }),
    ...(draft.defaultModelId === stored.defaultModelId
      ? {}
      : { defaultModelId: draft.defaultModelId || null }),
    ...(draft.allowUnpricedModels === stored.allowUnpricedModels
      ? {}
      : { allowUnpricedModels: draft.allowUnpricedModels === "yes" }),
  };
  return Object.keys(input).length === 0 ? null : input;
}
