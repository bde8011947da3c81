import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Bot, Plus, Search } from "lucide-react";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { CatalogFilters } from "@/catalog/CatalogFilters";
import { AgentsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { curlRequest } from "@/ui/graphqlRequest";
import { SkeletonRows } from "@/ui/Loading";
import { LoadMore } from "@/ui/LoadMore";
import { PageHeader } from "@/ui/PageHeader";
import { useDebounced } from "@/ui/useDebounced";
import { AgentListRow } from "./AgentListRow";

const PAGE_SIZE = 50;

export function AgentsPage() {
  const { q, archived } = useSearch({ from: "/app/agents" });
  const navigate = useNavigate({ from: "/agents" });
  const mayWrite = useMay("CATALOG_WRITE");
  const search = useDebounced(q ?? null, 200);
  const agents = usePages(
    AgentsDocument,
    { first: PAGE_SIZE, search, includeArchived: archived ?? false },
    (data) => data.agents,
  );

  return (
    <>
      <PageHeader title="Agents">
        {mayWrite && (
          <Link to="/agents/new" className={buttonClasses("primary")}>
            <Plus size={15} aria-hidden />
            New agent
          </Link>
        )}
      </PageHeader>
      <CatalogFilters
        what="agents"
        search={{ q, archived }}
        onChange={(change) =>
          void navigate({ search: (old) => ({ ...old, ...change }), replace: true })
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {agents.error && (
          <div className="p-4">
            <ErrorNote onRetry={agents.reload}>{describeError(agents.error)}</ErrorNote>
          </div>
        )}
        {agents.loading && <SkeletonRows />}
        {!agents.loading && !agents.error && agents.nodes.length === 0 && (
          <NoAgents searched={q !== undefined} mayWrite={mayWrite} />
        )}
        <ul>
          {agents.nodes.map((agent) => (
            <AgentListRow key={agent.id} agent={agent} />
          ))}
        </ul>
        <LoadMore hasMore={agents.hasMore} loading={agents.loadingMore} onLoad={agents.loadMore} />
      </div>
    </>
  );
}

function NoAgents({ searched, mayWrite }: { searched: boolean; mayWrite: boolean }) {
  if (searched) {
    return (
      <EmptyState icon={<Search size={20} />} title="No agent has a name like that">
        The search looks at the start of names.
      </EmptyState>
    );
  }
  if (!mayWrite) {
    return (
      <EmptyState icon={<Bot size={20} />} title="No agents yet">
        An agent says what work is for. Those who may create agents have made none so far.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<Bot size={20} />}
      title="No agents yet"
      action={
        <Link to="/agents/new" className={buttonClasses("primary")}>
          Create an agent
        </Link>
      }
      request={curlRequest(
        "mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { path message } } }",
        {
          input: {
            name: "assistant",
            displayName: "Assistant",
            systemPrompt: "You are a helpful assistant.",
          },
        },
      )}
    >
      An agent says what work is for: a prompt, a model and what it is able to do. Sessions then run
      it.
    </EmptyState>
  );
}
