import { Link } from "@tanstack/react-router";
import { MessageSquarePlus } from "lucide-react";
import { DefinitionPage, HistoryLabel } from "@/definitions/DefinitionPage";
import type { AgentDetailFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { AgentEditor } from "./AgentEditor";
import { ArchiveAgent } from "./ArchiveAgent";
import { draftProblems, FIELD_LABELS } from "./draft";
import { useAgentEditing } from "./useAgentEditing";

export function ExistingAgent({ agent }: { agent: AgentDetailFragment }) {
  const editing = useAgentEditing(agent);
  const mayRun = useMay("SESSIONS_WRITE");
  return (
    <DefinitionPage
      kind="agent"
      saved={agent}
      editing={editing}
      problems={draftProblems(editing.draft)}
      labels={FIELD_LABELS}
      list={
        <Link to="/agents" className="font-normal text-ink-3 hover:text-ink">
          Agents
        </Link>
      }
      actions={
        <>
          <Link
            to="/agents/$agentId/history"
            params={{ agentId: agent.id }}
            className={buttonClasses("ghost")}
          >
            <HistoryLabel />
          </Link>
          <ArchiveAgent agent={agent} />
          {mayRun && agent.lifecycle === "ACTIVE" && (
            <Link to="/sessions" search={{ new: agent.id }} className={buttonClasses()}>
              <MessageSquarePlus size={15} aria-hidden />
              New session
            </Link>
          )}
        </>
      }
      editor={(props) => <AgentEditor {...props} />}
    />
  );
}
