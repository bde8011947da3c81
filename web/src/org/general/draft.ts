import { changesOf } from "@/api/changes";
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

/** Null when nothing differs from what is stored. */
export function updateOrgInput(draft: OrgDraft, org: OrgSettingsFragment): UpdateOrgInput | null {
  return changesOf(inputOf(draft), inputOf(draftOfOrg(org)));
}

function inputOf(draft: OrgDraft) {
  return {
    name: draft.name.trim(),
    defaultHarnessId: draft.defaultHarnessId || null,
    defaultModelId: draft.defaultModelId || null,
    allowUnpricedModels: draft.allowUnpricedModels === "yes",
  };
}
