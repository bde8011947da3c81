import { useState } from "react";
import { fieldErrors, type UserError } from "@/api/errors";

/**
 * Ties inputs to the fields of a draft: `<TextField label="Name" {...field("name")} />`. Each shows what is wrong with
 * its field, or else why the server refused it.
 */
export function fieldsOf<Draft extends object>(
  draft: Draft,
  onChange: (draft: Draft) => void,
  refusals: readonly UserError[],
  problems: { readonly [Key in keyof Draft]?: string | null } = {},
) {
  return <Key extends keyof Draft & string>(key: Key) => ({
    errors: problems[key] ? [problems[key]] : fieldErrors(refusals, key),
    value: draft[key],
    onChange: (value: Draft[Key]) => onChange({ ...draft, [key]: value }),
  });
}

/** The draft of a form, and what ties its inputs to it. */
export function useFields<Draft extends object>(initial: Draft, refusals: readonly UserError[]) {
  const [draft, setDraft] = useState(initial);
  return [draft, fieldsOf(draft, setDraft, refusals)] as const;
}
