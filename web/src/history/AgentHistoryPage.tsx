import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMutation } from "urql";
import { useFresh } from "@/api/useFresh";
import { usePages } from "@/api/usePages";
import { AgentDocument, AgentHistoryDocument, RestoreAgentDocument } from "@/gql/graphql";
import { Missing } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { HistoryView } from "./HistoryView";
import { restoreAnswer } from "./restore";
import { NO_REVISIONS } from "./search";

export function AgentHistoryPage() {
  const { agentId: id } = useParams({ from: "/app/agents/$agentId/history" });
  const search = useSearch({ from: "/app/agents/$agentId/history" });
  const navigate = useNavigate({ from: "/agents/$agentId/history" });
  const mayWrite = useMay("CATALOG_WRITE");
  const [, restore] = useMutation(RestoreAgentDocument);
  const { data, error, fetching, reload } = useFresh(AgentDocument, { id });
  const revisions = usePages(
    AgentHistoryDocument,
    { id, first: 50 },
    ({ agent }) => agent?.history ?? NO_REVISIONS,
  );
  const agent = data?.agent;
  if (!agent) return <Missing fetching={fetching} error={error} reload={reload} />;
  const restorable = mayWrite && agent.lifecycle === "ACTIVE";
  return (
    <HistoryView
      list={<Link to="/agents">Agents</Link>}
      page={
        <Link to="/agents/$agentId" params={{ agentId: id }}>
          {agent.displayName}
        </Link>
      }
      current={agent.revision}
      revisions={revisions}
      search={search}
      onCompare={(next) => void navigate({ search: next, replace: true })}
      restore={
        restorable
          ? async (revision, reason) => {
              const answer = await restore({ id, revision, reason });
              const payload = answer.data?.restoreAgent;
              return restoreAnswer(payload, payload?.agent, answer.error);
            }
          : null
      }
    />
  );
}
