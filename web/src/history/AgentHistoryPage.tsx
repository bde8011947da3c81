import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { AgentDocument, AgentHistoryDocument, RestoreAgentDocument } from "@/gql/graphql";
import { HistoryView } from "./HistoryView";

export function AgentHistoryPage() {
  const { agentId } = useParams({ from: "/app/agents/$agentId/history" });
  const navigate = useNavigate({ from: "/agents/$agentId/history" });
  return (
    <HistoryView
      id={agentId}
      query={AgentDocument}
      revisionsQuery={AgentHistoryDocument}
      restoration={RestoreAgentDocument}
      search={useSearch({ from: "/app/agents/$agentId/history" })}
      onCompare={(next) => void navigate({ search: next, replace: true })}
      list={<Link to="/agents">Agents</Link>}
      page={(name) => (
        <Link to="/agents/$agentId" params={{ agentId }}>
          {name}
        </Link>
      )}
    />
  );
}
