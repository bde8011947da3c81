import { useCallback, useMemo, useState } from "react";
import { type TypedDocumentNode, useClient, useMutation } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { type Payload, payloadOf } from "@/api/useAction";
import { rebaseDraft, same } from "@/catalog/rebase";
import { useToast } from "@/ui/Toasts";
import { useStoredState } from "@/ui/useStoredState";

/** A draft together with the saved version that it was made from. */
interface Stored<Draft> {
  base: Draft;
  revision: number;
  draft: Draft;
  /** What is said about the change. */
  reason: string;
}

interface EditingOptions<Saved, Draft, Input, Updated, Read> {
  kind: "agent" | "harness";
  /** What is saved, as far as this page knows. */
  saved: Saved;
  draftOf: (saved: Saved) => Draft;
  /** The server refuses it unless the revision is the current one. */
  inputOf: (draft: Draft, revision: number, reason: string | null) => Input;
  update: TypedDocumentNode<Updated, { id: string; input: Input }>;
  /** Reads what is saved now. */
  query: TypedDocumentNode<Read, { id: string }>;
}

/**
 * Edits an agent or a harness. Changes survive a reload of the page, and a change by someone else: the server
 * refuses to write over a revision that the draft was not made from, and `takeTheirs` brings the draft onto the newer
 * one.
 */
export function useEditing<
  Saved extends { id: string; revision: number },
  Draft extends object,
  Input,
  Updated extends Record<string, Payload>,
  Read extends Record<string, Saved | null>,
>(options: EditingOptions<Saved, Draft, Input, Updated, Read>) {
  const { kind, saved, draftOf } = options;
  const client = useClient();
  const toast = useToast();
  const [{ fetching }, update] = useMutation(options.update);
  const [stored, store] = useStoredState<Stored<Draft> | null>(
    sessionStorage,
    `ostler.${kind}.${saved.id}`,
    null,
  );
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const [clashes, setClashes] = useState<readonly (keyof Draft)[]>([]);

  const savedDraft = draftOf(saved);
  const editing = stored
    ? // What an older dashboard has stored may lack what the forms have got since.
      { ...stored, draft: { ...savedDraft, ...stored.draft }, reason: stored.reason ?? "" }
    : { base: savedDraft, revision: saved.revision, draft: savedDraft, reason: "" };
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
    const input = options.inputOf(editing.draft, revision, reason.trim() || null);
    const { data, error } = await update({ id: saved.id, input });
    const refused = payloadOf(data)?.userErrors ?? [];
    setFailure(error ? describeError(error) : null);
    if (data && refused.length === 0) {
      reset();
      toast("Saved");
    } else setRefusals(refused);
  };

  const takeTheirs = async () => {
    const { data } = await client
      .query(options.query, { id: saved.id }, { requestPolicy: "network-only" })
      .toPromise();
    const latest = data && Object.values(data)[0];
    if (!latest) return;
    const theirs = draftOf(latest);
    const rebased = rebaseDraft(base, editing.draft, theirs);
    setRefusals([]);
    setClashes(rebased.clashes);
    store({ base: theirs, revision: latest.revision, draft: rebased.draft, reason });
  };

  const shown = useMemo(() => refusals.filter(({ code }) => code !== "CONFLICT"), [refusals]);
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
    refusals: shown,
    failure,
    saving: fetching,
    save: () => void save(),
    reset,
    takeTheirs: () => void takeTheirs(),
  };
}

/** How an agent or a harness is being edited. */
export type Editing<Draft extends object> = ReturnType<
  typeof useEditing<never, Draft, never, never, never>
>;
