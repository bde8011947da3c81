import { useState } from "react";
import { useQuery } from "urql";
import { toggled } from "@/api/changes";
import { describeError, type UserError } from "@/api/errors";
import { amountProblem } from "@/budgets/draft";
import { PayingCapabilitiesDocument } from "@/gql/graphql";
import { useAlone } from "@/org/useAlone";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field, TextField } from "@/ui/Field";
import { Spinner } from "@/ui/Loading";
import { fieldsOf } from "@/ui/useFields";
import { type PolicyDraft, secretProblem } from "./draft";

interface PolicyFieldsProps {
  draft: PolicyDraft;
  onChange: (draft: PolicyDraft) => void;
  refusals: readonly UserError[];
  /** A policy that there is has a secret already. */
  hasSecret: boolean;
}

const AMOUNTS = [
  ["maxPerRequest", "Limit per payment"],
  ["maxPerTurn", "Limit per turn"],
  ["maxPerDay", "Limit per day"],
] as const;

/** What a policy allows: for a new one, and to change one. */
export function PolicyFields({ draft, onChange, refusals, hasSecret }: PolicyFieldsProps) {
  const field = fieldsOf(draft, onChange, refusals, {
    maxPerRequest: amountProblem(draft.maxPerRequest),
    maxPerTurn: amountProblem(draft.maxPerTurn),
    maxPerDay: amountProblem(draft.maxPerDay),
    approvalAbove: amountProblem(draft.approvalAbove),
    secret: secretProblem(draft.secret),
  });
  const alone = useAlone(draft.approvalAbove.trim() !== "");
  const hosts = field("hosts");
  return (
    <>
      <TextField label="Name" required {...field("name")} />
      <CapabilityChoice {...field("capabilities")} />
      <Field
        label="Allowed payees (hosts)"
        hint="One per line, e.g. api.example.com or *.example.com."
        errors={hosts.errors}
      >
        {(control) => (
          <textarea
            {...control}
            required
            rows={2}
            autoComplete="off"
            spellCheck={false}
            className="control h-auto py-1.5 font-mono"
            value={hosts.value}
            onChange={(event) => hosts.onChange(event.target.value)}
          />
        )}
      </Field>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        {AMOUNTS.map(([key, label]) => (
          <TextField
            key={key}
            label={label}
            hint={key === "maxPerDay" ? "In USD. Days are in UTC." : "In USD."}
            required
            inputMode="decimal"
            {...field(key)}
          />
        ))}
        <TextField
          label="Approval above"
          optional
          hint="Payments above this amount (USD) need approval."
          inputMode="decimal"
          {...field("approvalAbove")}
        />
      </div>
      {alone && (
        <p role="note" className="text-xs text-warn">
          You are the only member of this organization, and payments of your own turns above that
          amount need somebody else's approval: you could only deny them. Invite somebody, or leave
          it empty.
        </p>
      )}
      <TextField
        label="Payment server URL"
        hint="Your server that moves the money. It receives signed requests."
        type="url"
        required
        spellCheck={false}
        mono
        {...field("url")}
      />
      <TextField
        label={hasSecret ? "New secret" : "Secret"}
        optional={hasSecret}
        hint={
          hasSecret
            ? "Leave empty to keep the current one. Both secrets sign for 24 hours after a change."
            : "Signs requests to your payment server. Generate one with openssl rand -hex 32. It is never shown again."
        }
        mono
        type="password"
        // Browsers offer to keep what looks like a password; this value tells them not to.
        autoComplete="new-password"
        data-1p-ignore
        data-lpignore="true"
        spellCheck={false}
        required={!hasSecret}
        {...field("secret")}
      />
    </>
  );
}

interface CapabilityChoiceProps {
  value: readonly string[];
  onChange: (chosen: readonly string[]) => void;
  errors: readonly string[];
}

/** Checkboxes for whose tools may pay. */
function CapabilityChoice({ value: chosen, onChange, errors }: CapabilityChoiceProps) {
  const [{ data, error, fetching }, reload] = useQuery({ query: PayingCapabilitiesDocument });
  // What was chosen before stays on offer, also where the server has no such capability any more.
  const [before] = useState(chosen);
  const offered = data?.capabilities ?? [];
  const gone = before
    .filter((id) => data !== undefined && !offered.some((each) => each.id === id))
    .map((id) => ({ id, name: id, description: "No longer available on this server." }));
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">Capabilities that can pay</legend>
      {error && (
        <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
          {describeError(error)}
        </ErrorNote>
      )}
      {!data && fetching && <Spinner label="Loading capabilities" />}
      {data && (
        <div className="grid max-h-44 gap-y-1.5 overflow-y-auto rounded-md border border-line-strong px-3 py-2">
          {[...offered, ...gone].map(({ id, name, description }) => (
            <label key={id} className="flex items-start gap-2 text-sm">
              <input
                type="checkbox"
                className="mt-0.75 size-3.5 shrink-0 accent-accent"
                checked={chosen.includes(id)}
                onChange={() => onChange(toggled(chosen, id))}
              />
              <span className="min-w-0">
                {name} <span className="font-mono text-2xs wrap-anywhere text-ink-3">{id}</span>
                <span className="block text-xs text-ink-3">{description}</span>
              </span>
            </label>
          ))}
        </div>
      )}
      {errors.length > 0 && (
        <p role="alert" className="mt-1.5 text-xs text-bad">
          {errors.join(" ")}
        </p>
      )}
    </fieldset>
  );
}
