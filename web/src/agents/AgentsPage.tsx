import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Bot, Search } from "lucide-react";
import { CatalogPage, ROW_CLASSES, RowContent } from "@/definitions/CatalogPage";
import { AgentsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";

export function AgentsPage() {
  const search = useSearch({ from: "/app/agents" });
  const navigate = useNavigate({ from: "/agents" });
  return (
    <CatalogPage
      kind="agent"
      title="Agents"
      about="An agent does one job: it has instructions and tools of its own, and runs on a harness."
      search={search}
      onSearch={(change) =>
        void navigate({ search: (old) => ({ ...old, ...change }), replace: true })
      }
      query={AgentsDocument}
      connectionIn={(data) => data.agents}
      empty={<NoAgents searched={search.q !== undefined} />}
      row={(agent) => (
        <li key={agent.id} className="border-b border-line">
          <Link to="/agents/$agentId" params={{ agentId: agent.id }} className={ROW_CLASSES}>
            <RowContent
              of={agent}
              basis={agent.harness?.displayName ?? "Default harness"}
              badges={
                <span className="hidden items-center gap-1 sm:flex">
                  {agent.tags.slice(0, 3).map((tag) => (
                    <Badge key={tag}>{tag}</Badge>
                  ))}
                </span>
              }
            />
          </Link>
        </li>
      )}
    />
  );
}

function NoAgents({ searched }: { searched: boolean }) {
  const mayWrite = useMay("CATALOG_WRITE");
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
        An agent combines a prompt, a model and tools. Nobody has created one yet.
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
      An agent combines a prompt, a model and tools. Sessions run it.
    </EmptyState>
  );
}
