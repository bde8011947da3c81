import { useAction } from "@/api/useAction";
import { ArchiveButton } from "@/catalog/ArchiveButton";
import {
  type AgentDetailFragment,
  ArchiveAgentDocument,
  UnarchiveAgentDocument,
} from "@/gql/graphql";

export function ArchiveAgent({ agent }: { agent: AgentDetailFragment }) {
  return (
    <ArchiveButton
      thing={agent}
      consequences="It becomes read-only, is hidden from lists and can't start new sessions. Sessions that run it stop at their next step."
      archive={useAction(ArchiveAgentDocument)}
      unarchive={useAction(UnarchiveAgentDocument)}
    />
  );
}
