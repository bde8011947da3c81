import { type FormEvent, useState } from "react";
import { useMutation, useQuery } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { ModelOptions } from "@/catalog/ModelOptions";
import { OrgFormOptionsDocument, type OrgSettingsFragment, UpdateOrgDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";
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
  const [{ data: options, error: optionsError }] = useQuery({
    query: OrgFormOptionsDocument,
    requestPolicy: "cache-and-network",
  });
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
  const control = (key: keyof OrgDraft) => ({
    className: "control",
    value: draft[key],
    onChange: (event: { target: { value: string } }) => {
      setEdited({ ...edited, [key]: event.target.value });
      setSaved(false);
    },
  });
  const harnesses = options?.harnesses.nodes ?? [];
  const { defaultHarness } = org;

  return (
    <form onSubmit={(event) => void submit(event)} className="card space-y-5 p-4">
      {error && <ErrorNote>{describeError(error)}</ErrorNote>}
      {optionsError && <ErrorNote>{describeError(optionsError)}</ErrorNote>}
      {otherErrors(refusals, FIELDS).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
      <Field label="Name" errors={fieldErrors(refusals, "name")}>
        {(props) => <input {...props} {...control("name")} required autoComplete="off" />}
      </Field>
      <Field
        label="Default harness"
        hint="Used when a session or agent doesn't choose one."
        errors={fieldErrors(refusals, "defaultHarnessId")}
      >
        {(props) => (
          <select {...props} {...control("defaultHarnessId")}>
            <option value="">None</option>
            {defaultHarness && !harnesses.some(({ id }) => id === defaultHarness.id) && (
              <option value={defaultHarness.id}>
                {defaultHarness.displayName} ({defaultHarness.name})
              </option>
            )}
            {harnesses.map(({ id, name, displayName }) => (
              <option key={id} value={id}>
                {displayName} ({name})
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Default model"
        hint="Used when neither agent nor harness sets a model."
        errors={fieldErrors(refusals, "defaultModelId")}
      >
        {(props) => (
          <select {...props} {...control("defaultModelId")}>
            <option value="">None</option>
            <ModelOptions
              models={modelsOf(options?.models.nodes, org)}
              chosen={draft.defaultModelId}
            />
          </select>
        )}
      </Field>
      <Field
        label="Models without a price"
        hint="Whether they may run where a dollar budget can't count their cost."
        errors={fieldErrors(refusals, "allowUnpricedModels")}
      >
        {(props) => (
          <select {...props} {...control("allowUnpricedModels")}>
            <option value="no">Reject under dollar budgets</option>
            <option value="yes">Allow, and count nothing</option>
          </select>
        )}
      </Field>
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

/** The models to choose from, with the one that is chosen even where it is past the first hundred. */
function modelsOf<Model extends { id: string }>(
  offered: readonly Model[] = [],
  org: { defaultModel: Model | null },
): readonly Model[] {
  const { defaultModel } = org;
  if (!defaultModel || offered.some(({ id }) => id === defaultModel.id)) return offered;
  return [defaultModel, ...offered];
}
