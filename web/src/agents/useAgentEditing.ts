import { useClient, useMutation } from "urql";
import { useDraftEditing } from "@/catalog/useDraftEditing";
import { type AgentDetailFragment, AgentDocument, UpdateAgentDocument } from "@/gql/graphql";
import { draftOf, updateInput } from "./draft";

export function useAgentEditing(agent: AgentDetailFragment) {
  const client = useClient();
  const [, update] = useMutation(UpdateAgentDocument);
  const versionOf = (each: AgentDetailFragment) => ({
    revision: each.revision,
    draft: draftOf(each),
  });
  return useDraftEditing({
    storageKey: `ostler.agent.${agent.id}`,
    saved: versionOf(agent),
    save: async (draft, revision, reason) => {
      const { data, error } = await update({
        id: agent.id,
        input: updateInput(draft, revision, reason),
      });
      const payload = data?.updateAgent;
      return { saved: payload !== undefined, refusals: payload?.userErrors ?? [], error };
    },
    readLatest: async () => {
      const { data } = await client
        .query(AgentDocument, { id: agent.id }, { requestPolicy: "network-only" })
        .toPromise();
      return data?.agent ? versionOf(data.agent) : null;
    },
  });
}
