import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { type OrgLimitsQuery, UpdateOrgLimitsDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";
import {
  type Counts,
  countText,
  ENVIRONMENT_KEYS,
  LIMITS,
  type LimitsDraft,
  limitProblem,
  limitsInput,
} from "./draft";

const FIELDS = LIMITS.map(({ name }) => name);

interface LimitsFormProps {
  org: OrgLimitsQuery["org"];
  counts: Counts;
}

export function LimitsForm({ org, counts }: LimitsFormProps) {
  const [draft, setDraft] = useState<LimitsDraft>({});
  const [saved, setSaved] = useState(false);
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [{ fetching, error }, update] = useMutation(UpdateOrgLimitsDocument);
  const input = limitsInput(draft, org.limits);
  const touched = Object.keys(draft).length > 0;

  const reset = () => {
    setDraft({});
    setRefusals([]);
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!input) return;
    const { data } = await update({ orgId: org.id, input });
    setRefusals(data?.updateOrgLimits.userErrors ?? []);
    if (!data?.updateOrgLimits.org) return;
    setDraft({});
    setSaved(true);
  };

  return (
    <form onSubmit={(event) => void submit(event)} className="card space-y-5 p-4">
      <p className="text-sm text-ink-2">
        As an operator of this server you can change these. 0 = unlimited; leave empty for the
        server default. Existing items above a lower limit are kept.
      </p>
      <RequestError error={error} />
      {otherErrors(refusals, FIELDS).map((refusal) => (
        <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
      ))}
      <div className="grid gap-x-6 gap-y-5 sm:grid-cols-2">
        {LIMITS.map(({ name, label, about }) => {
          const text = draft[name] ?? String(org.limits[name]);
          const problem = limitProblem(text, name);
          const count = countText(counts[name]);
          return (
            <TextField
              key={name}
              label={label}
              hint={count === null ? about : `${about} ${count}.`}
              errors={problem === null ? fieldErrors(refusals, name) : [problem]}
              inputMode="numeric"
              placeholder="Server default"
              value={text}
              onChange={(next) => {
                setDraft({ ...draft, [name]: next });
                setSaved(false);
              }}
            />
          );
        })}
      </div>
      <label className="flex items-start gap-3 text-sm">
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 accent-(--accent)"
          checked={draft.environmentKeys ?? org.limits.environmentKeys}
          onChange={(event) => {
            setDraft({ ...draft, environmentKeys: event.target.checked });
            setSaved(false);
          }}
        />
        <span>
          {ENVIRONMENT_KEYS.label}
          <span className="block text-xs text-ink-3">{ENVIRONMENT_KEYS.about}</span>
        </span>
      </label>
      <div className="flex items-center justify-end gap-3">
        {saved && !touched && (
          <span role="status" className="text-sm text-ok">
            Saved
          </span>
        )}
        {touched && (
          <Button look="ghost" onClick={reset}>
            Discard changes
          </Button>
        )}
        <Button look="primary" type="submit" disabled={fetching || !input}>
          {fetching ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}
