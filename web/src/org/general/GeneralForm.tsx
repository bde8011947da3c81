import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { useFresh } from "@/api/useFresh";
import { ModelOptions } from "@/catalog/ModelOptions";
import { namedOption } from "@/catalog/names";
import { OrgFormOptionsDocument, type OrgSettingsFragment, UpdateOrgDocument } from "@/gql/graphql";
import { RequestError } from "@/ui/ErrorNote";
import { SelectField, TextField } from "@/ui/Field";
import { SaveForm } from "@/ui/SaveForm";
import { draftOfOrg, type OrgDraft, updateOrgInput } from "./draft";

const FIELDS: (keyof OrgDraft)[] = [
  "name",
  "defaultHarnessId",
  "defaultModelId",
  "allowUnpricedModels",
];

export function GeneralForm({ org }: { org: OrgSettingsFragment }) {
  const [edited, setEdited] = useState<Partial<OrgDraft>>({});
  const update = useAction(UpdateOrgDocument);
  const { data: options, error: optionsError } = useFresh(OrgFormOptionsDocument, {});
  const draft = { ...draftOfOrg(org), ...edited };
  const input = updateOrgInput(draft, org);

  const field = (key: keyof OrgDraft) => ({
    errors: fieldErrors(update.refusals, key),
    value: draft[key],
    onChange: (value: string) => setEdited({ ...edited, [key]: value }),
  });

  return (
    <SaveForm
      state={update}
      fields={FIELDS}
      changed={input !== null}
      invalid={draft.name.trim() === ""}
      onDiscard={() => setEdited({})}
      onSubmit={async () => {
        const saved = input && (await update.run({ input }));
        if (saved) setEdited({});
        return Boolean(saved);
      }}
    >
      <RequestError error={optionsError} />
      <TextField label="Name" {...field("name")} required />
      <SelectField
        label="Default harness"
        hint="Used when a session or agent doesn't choose one."
        {...field("defaultHarnessId")}
        none="None"
        options={withChosen(options?.harnesses.nodes, org.defaultHarness).map(namedOption)}
      />
      <SelectField
        label="Default model"
        hint="Used when neither agent nor harness sets a model."
        {...field("defaultModelId")}
        none="None"
      >
        <ModelOptions
          models={withChosen(options?.models.nodes, org.defaultModel)}
          chosen={draft.defaultModelId}
        />
      </SelectField>
      <SelectField
        label="Models without a price"
        hint="Whether they may run where a dollar budget can't count their cost."
        {...field("allowUnpricedModels")}
        options={[
          ["no", "Reject under dollar budgets"],
          ["yes", "Allow, and count nothing"],
        ]}
      />
    </SaveForm>
  );
}

/** What there is to choose from, with what is chosen even where it is past the first hundred. */
function withChosen<Option extends { id: string }>(
  offered: readonly Option[] = [],
  chosen: Option | null,
): readonly Option[] {
  return !chosen || offered.some(({ id }) => id === chosen.id) ? offered : [chosen, ...offered];
}
