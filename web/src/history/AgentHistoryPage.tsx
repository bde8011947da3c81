import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMutation, useQuery } from "urql";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { AgentDocument, AgentHistoryDocument, RestoreAgentDocument } from "@/gql/graphql";
import { NotFound } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { HistoryView } from "./HistoryView";
import { NO_REVISIONS } from "./search";

export function AgentHistoryPage() {
  const { agentId } = useParams({ from: "/app/agents/$agentId/history" });
  const search = useSearch({ from: "/app/agents/$agentId/history" });
  const navigate = useNavigate({ from: "/agents/$agentId/history" });
  const mayWrite = useMay("CATALOG_WRITE");
  const [, restore] = useMutation(RestoreAgentDocument);
  const [{ data, error, fetching }, reload] = useQuery({
    query: AgentDocument,
    variables: { id: agentId },
    requestPolicy: "cache-and-network",
  });
  const revisions = usePages(
    AgentHistoryDocument,
    { id: agentId, first: 50 },
    ({ agent }) => agent?.history ?? NO_REVISIONS,
  );
  const agent = data?.agent;

  if (!agent) {
    return (
      <div className="p-6">
        {fetching && <Spinner />}
        {error && <ErrorNote onRetry={reload}>{describeError(error)}</ErrorNote>}
        {!fetching && !error && <NotFound />}
      </div>
    );
  }
  const restorable = mayWrite && agent.lifecycle === "ACTIVE";
  return (
    <HistoryView
      trail={
        <>
          <Link to="/agents" className="font-normal text-ink-3 hover:text-ink">
            Agents
          </Link>
          <span className="text-ink-3" aria-hidden>
            /
          </span>
          <Link
            to="/agents/$agentId"
            params={{ agentId }}
            className="truncate font-normal text-ink-3 hover:text-ink"
          >
            {agent.displayName}
          </Link>
        </>
      }
      current={agent.revision}
      revisions={revisions}
      search={search}
      onCompare={(next) => void navigate({ search: next, replace: true })}
      restore={
        restorable
          ? async (revision, reason) => {
              const answer = await restore({ id: agentId, revision, reason });
              const payload = answer.data?.restoreAgent;
              return {
                revision: payload?.agent?.revision ?? null,
                refusals: payload?.userErrors ?? [],
                error: answer.error,
              };
            }
          : null
      }
    />
  );
}
