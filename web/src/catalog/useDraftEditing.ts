import { useCallback, useState } from "react";
import type { CombinedError } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { useStoredState } from "@/ui/useStoredState";
import { rebaseDraft, same } from "./rebase";

/** A draft together with the saved version that it was made from. */
interface Editing<Draft> {
  base: Draft;
  revision: number;
  draft: Draft;
  /** What is said about the change. */
  reason: string;
}

interface Version<Draft> {
  revision: number;
  draft: Draft;
}

export interface SaveAnswer {
  saved: boolean;
  refusals: readonly UserError[];
  error: CombinedError | undefined;
}

interface DraftEditingOptions<Draft> {
  /** Where the draft is kept in the session's storage. */
  storageKey: string;
  /** What is saved, as far as this page knows. */
  saved: Version<Draft>;
  /** Sends the change; it is refused unless the revision is the current one. */
  save: (draft: Draft, revision: number, reason: string | null) => Promise<SaveAnswer>;
  /** Reads what is saved now; null when that fails. */
  readLatest: () => Promise<Version<Draft> | null>;
}

/**
 * Edits something that has revisions. Changes survive a reload of the page, and a change by someone else: the server
 * refuses to write over a revision that the draft was not made from, and `takeTheirs` brings the draft onto the newer
 * one.
 */
export function useDraftEditing<Draft extends object>(options: DraftEditingOptions<Draft>) {
  const { saved } = options;
  const [stored, store] = useStoredState<Editing<Draft> | null>(
    sessionStorage,
    options.storageKey,
    null,
  );
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const [clashes, setClashes] = useState<readonly (keyof Draft)[]>([]);
  const [saving, setSaving] = useState(false);

  const editing = stored
    ? // What an older dashboard has stored may lack what the forms have got since.
      { ...stored, draft: { ...saved.draft, ...stored.draft }, reason: stored.reason ?? "" }
    : { base: saved.draft, revision: saved.revision, draft: saved.draft, reason: "" };
  const { base, revision, reason } = editing;

  const setDraft = useCallback(
    (draft: Draft) => store(same(draft, base) ? null : { base, revision, draft, reason }),
    [store, base, revision, reason],
  );

  const reset = () => {
    store(null);
    setRefusals([]);
    setFailure(null);
    setClashes([]);
  };

  const save = async () => {
    setSaving(true);
    const answer = await options.save(editing.draft, revision, reason.trim() || null);
    setSaving(false);
    setFailure(answer.error ? describeError(answer.error) : null);
    if (answer.saved && answer.refusals.length === 0) reset();
    else setRefusals(answer.refusals);
  };

  const takeTheirs = async () => {
    const theirs = await options.readLatest();
    if (!theirs) return;
    const rebased = rebaseDraft(base, editing.draft, theirs.draft);
    setRefusals([]);
    setClashes(rebased.clashes);
    store({ base: theirs.draft, revision: theirs.revision, draft: rebased.draft, reason });
  };

  const conflicted = refusals.some(({ code }) => code === "CONFLICT");
  return {
    draft: editing.draft,
    setDraft,
    reason,
    setReason: (next: string) => stored && store({ ...stored, reason: next }),
    dirty: stored !== null,
    /** Someone else has saved since the draft was begun. */
    outdated: conflicted || (stored !== null && saved.revision > revision),
    clashes,
    refusals: refusals.filter(({ code }) => code !== "CONFLICT"),
    failure,
    saving,
    save: () => void save(),
    reset,
    takeTheirs: () => void takeTheirs(),
  };
}
