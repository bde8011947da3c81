import { Link, useParams } from "@tanstack/react-router";
import { useFresh } from "@/api/useFresh";
import { AgentDocument } from "@/gql/graphql";
import { Missing } from "@/shell/Fallbacks";
import { ExistingAgent } from "./ExistingAgent";

export function AgentPage() {
  const { agentId } = useParams({ from: "/app/agents/$agentId" });
  const { data, error, fetching, reload } = useFresh(AgentDocument, { id: agentId });
  const agent = data?.agent;
  if (agent) return <ExistingAgent key={agent.id} agent={agent} />;
  return (
    <>
      <Missing fetching={fetching} error={error} reload={reload} />
      <Link to="/agents" className="sr-only">
        All agents
      </Link>
    </>
  );
}
