import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { useFresh } from "@/api/useFresh";
import { ModelOptions, namedOption } from "@/catalog/ModelOptions";
import { OrgFormOptionsDocument, type OrgSettingsFragment, UpdateOrgDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { SelectField, TextField } from "@/ui/Field";
import { draftOfOrg, type OrgDraft, updateOrgInput } from "./draft";

const FIELDS: (keyof OrgDraft)[] = [
  "name",
  "defaultHarnessId",
  "defaultModelId",
  "allowUnpricedModels",
];

export function GeneralForm({ org }: { org: OrgSettingsFragment }) {
  const [edited, setEdited] = useState<Partial<OrgDraft>>({});
  const [saved, setSaved] = useState(false);
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [{ fetching, error }, update] = useMutation(UpdateOrgDocument);
  const { data: options, error: optionsError } = useFresh(OrgFormOptionsDocument, {});
  const draft = { ...draftOfOrg(org), ...edited };
  const input = updateOrgInput(draft, org);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!input) return;
    const { data } = await update({ input });
    setRefusals(data?.updateOrg.userErrors ?? []);
    if (!data?.updateOrg.org) return;
    setEdited({});
    setSaved(true);
  };
  const field = (key: keyof OrgDraft) => ({
    errors: fieldErrors(refusals, key),
    value: draft[key],
    onChange: (value: string) => {
      setEdited({ ...edited, [key]: value });
      setSaved(false);
    },
  });

  return (
    <form onSubmit={(event) => void submit(event)} className="card space-y-5 p-4">
      <RequestError error={error} />
      <RequestError error={optionsError} />
      {otherErrors(refusals, FIELDS).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
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
      <div className="flex items-center justify-end gap-3">
        {saved && !input && (
          <span role="status" className="text-sm text-ok">
            Saved
          </span>
        )}
        {input && (
          <Button look="ghost" onClick={() => setEdited({})}>
            Discard changes
          </Button>
        )}
        <Button
          look="primary"
          type="submit"
          disabled={fetching || !input || draft.name.trim() === ""}
        >
          {fetching ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}

/** What there is to choose from, with what is chosen even where it is past the first hundred. */
function withChosen<Option extends { id: string }>(
  offered: readonly Option[] = [],
  chosen: Option | null,
): readonly Option[] {
  return !chosen || offered.some(({ id }) => id === chosen.id) ? offered : [chosen, ...offered];
}
