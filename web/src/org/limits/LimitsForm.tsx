import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { type OrgLimitsQuery, UpdateOrgLimitsDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { SaveForm } from "@/ui/SaveForm";
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
  const update = useAction(UpdateOrgLimitsDocument);
  const input = limitsInput(draft, org.limits);
  const touched = Object.keys(draft).length > 0;

  return (
    <SaveForm
      state={update}
      fields={FIELDS}
      changed={touched}
      invalid={!input}
      onDiscard={() => setDraft({})}
      onSubmit={async () => {
        const saved = input && (await update.run({ orgId: org.id, input }));
        if (saved) setDraft({});
        return Boolean(saved);
      }}
    >
      <p className="text-sm text-ink-2">
        As an operator of this server you can change these. 0 = unlimited; leave empty for the
        server default. Existing items above a lower limit are kept.
      </p>
      <div className="grid gap-x-6 gap-y-5 sm:grid-cols-2">
        {LIMITS.map(({ name, label, about }) => {
          const text = draft[name] ?? String(org.limits[name]);
          const problem = limitProblem(text, name);
          const count = countText(counts[name]);
          return (
            <TextField
              key={name}
              label={label}
              hint={`${text.trim() === "0" ? "Unlimited. " : ""}${about}${count === null ? "" : ` Now: ${count}.`}`}
              errors={problem === null ? fieldErrors(update.refusals, name) : [problem]}
              inputMode="numeric"
              placeholder="Server default"
              value={text}
              onChange={(next) => setDraft({ ...draft, [name]: next })}
            />
          );
        })}
      </div>
      <label className="flex items-start gap-3 text-sm">
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 accent-accent"
          checked={draft.environmentKeys ?? org.limits.environmentKeys}
          onChange={(event) => setDraft({ ...draft, environmentKeys: event.target.checked })}
        />
        <span>
          {ENVIRONMENT_KEYS.label}
          <span className="block text-xs text-ink-3">{ENVIRONMENT_KEYS.about}</span>
        </span>
      </label>
    </SaveForm>
  );
}
