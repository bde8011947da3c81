import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { ArchiveButton } from "@/catalog/ArchiveButton";
import {
  type AgentDetailFragment,
  ArchiveAgentDocument,
  UnarchiveAgentDocument,
} from "@/gql/graphql";

export function ArchiveAgent({ agent }: { agent: AgentDetailFragment }) {
  const [, archive] = useMutation(ArchiveAgentDocument);
  const [, unarchive] = useMutation(UnarchiveAgentDocument);
  const { id } = agent;
  return (
    <ArchiveButton
      thing={agent}
      consequences="It becomes read-only, is hidden from lists and can't start new sessions. Sessions that run it stop at their next step."
      archive={async () => {
        const { data, error } = await archive({ id });
        return error ? describeError(error) : data?.archiveAgent.userErrors[0]?.message;
      }}
      unarchive={async () => {
        const { data, error } = await unarchive({ id });
        return error ? describeError(error) : data?.unarchiveAgent.userErrors[0]?.message;
      }}
    />
  );
}
