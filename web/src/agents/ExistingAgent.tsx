import { Link } from "@tanstack/react-router";
import { MessageSquarePlus } from "lucide-react";
import { ArchiveButton } from "@/catalog/ArchiveButton";
import { DefinitionPage, HistoryLabel } from "@/definitions/DefinitionPage";
import { useEditing } from "@/definitions/useEditing";
import {
  type AgentDetailFragment,
  AgentDocument,
  ArchiveAgentDocument,
  UnarchiveAgentDocument,
  UpdateAgentDocument,
} from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { AgentEditor } from "./AgentEditor";
import { draftOf, draftProblems, FIELD_LABELS, updateInput } from "./draft";

export function ExistingAgent({ agent }: { agent: AgentDetailFragment }) {
  const editing = useEditing({
    kind: "agent",
    saved: agent,
    draftOf,
    inputOf: updateInput,
    update: UpdateAgentDocument,
    query: AgentDocument,
  });
  const mayRun = useMay("SESSIONS_WRITE");
  return (
    <DefinitionPage
      kind="agent"
      saved={agent}
      editing={editing}
      problems={draftProblems(editing.draft)}
      labels={FIELD_LABELS}
      list={<Link to="/agents">Agents</Link>}
      actions={
        <>
          <Link
            to="/agents/$agentId/history"
            params={{ agentId: agent.id }}
            className={buttonClasses("ghost")}
          >
            <HistoryLabel />
          </Link>
          <ArchiveButton
            thing={agent}
            consequences="It becomes read-only, is hidden from lists and can't start new sessions. Sessions that run it stop at their next step."
            archive={ArchiveAgentDocument}
            unarchive={UnarchiveAgentDocument}
          />
          {mayRun && agent.lifecycle === "ACTIVE" && (
            <Link
              to="/sessions"
              search={{ new: agent.id }}
              className={buttonClasses("secondary", editing.dirty ? "max-sm:hidden" : "")}
            >
              <MessageSquarePlus size={15} aria-hidden />
              New session
            </Link>
          )}
        </>
      }
      editor={(props) => <AgentEditor {...props} saved={agent} />}
    />
  );
}
