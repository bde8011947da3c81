import { Link, useParams } from "@tanstack/react-router";
import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { AgentDocument } from "@/gql/graphql";
import { NotFound } from "@/shell/Fallbacks";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { ExistingAgent } from "./ExistingAgent";

export function AgentPage() {
  const { agentId } = useParams({ from: "/app/agents/$agentId" });
  const [{ data, error, fetching }, reload] = useQuery({
    query: AgentDocument,
    variables: { id: agentId },
    requestPolicy: "cache-and-network",
  });
  const agent = data?.agent;
  if (agent) return <ExistingAgent key={agent.id} agent={agent} />;
  return (
    <div className="p-6">
      {fetching && <Spinner />}
      {error && (
        <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
          {describeError(error)}
        </ErrorNote>
      )}
      {!fetching && !error && <NotFound />}
      <Link to="/agents" className="sr-only">
        All agents
      </Link>
    </div>
  );
}
