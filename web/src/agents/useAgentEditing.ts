import { useCallback, useState } from "react";
import { useClient, useMutation } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { type AgentDetailFragment, AgentDocument, UpdateAgentDocument } from "@/gql/graphql";
import { useStoredState } from "@/ui/useStoredState";
import { type AgentDraft, draftOf, rebaseDraft, sameDraft, updateInput } from "./draft";

/** A draft together with the saved version that it was made from. */
interface Editing {
  base: AgentDraft;
  revision: number;
  draft: AgentDraft;
}

/**
 * Edits one agent. Changes survive a reload of the page, and a change by someone else: the server refuses to write
 * over a revision that the draft was not made from, and `takeTheirs` brings the draft onto the newer one.
 */
export function useAgentEditing(agent: AgentDetailFragment) {
  const client = useClient();
  const [stored, store] = useStoredState<Editing | null>(
    sessionStorage,
    `ostler.agent.${agent.id}`,
    null,
  );
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [clashes, setClashes] = useState<readonly (keyof AgentDraft)[]>([]);
  const [{ fetching, error }, update] = useMutation(UpdateAgentDocument);

  const saved = draftOf(agent);
  const editing = stored ?? { base: saved, revision: agent.revision, draft: saved };
  const { base, revision } = editing;

  const setDraft = useCallback(
    (draft: AgentDraft) => store(sameDraft(draft, base) ? null : { base, revision, draft }),
    [store, base, revision],
  );

  const reset = () => {
    store(null);
    setRefusals([]);
    setClashes([]);
  };

  const save = async () => {
    const { data } = await update({
      id: agent.id,
      input: updateInput(editing.draft, editing.revision),
    });
    const refused = data?.updateAgent.userErrors ?? [];
    if (data && refused.length === 0) reset();
    else setRefusals(refused);
  };

  const takeTheirs = async () => {
    const { data } = await client
      .query(AgentDocument, { id: agent.id }, { requestPolicy: "network-only" })
      .toPromise();
    if (!data?.agent) return;
    const theirs = draftOf(data.agent);
    const rebased = rebaseDraft(editing.base, editing.draft, theirs);
    setRefusals([]);
    setClashes(rebased.clashes);
    store({ base: theirs, revision: data.agent.revision, draft: rebased.draft });
  };

  const conflicted = refusals.some(({ code }) => code === "CONFLICT");
  return {
    draft: editing.draft,
    setDraft,
    dirty: stored !== null,
    /** Someone else has saved since the draft was begun. */
    outdated: conflicted || (stored !== null && agent.revision > editing.revision),
    clashes,
    refusals: refusals.filter(({ code }) => code !== "CONFLICT"),
    failure: error ? describeError(error) : null,
    saving: fetching,
    save: () => void save(),
    reset,
    takeTheirs: () => void takeTheirs(),
  };
}
