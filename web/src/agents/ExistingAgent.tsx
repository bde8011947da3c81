import { Link } from "@tanstack/react-router";
import { History, MessageSquarePlus } from "lucide-react";
import { EditingNotices } from "@/catalog/EditingNotices";
import { ReasonBar } from "@/catalog/ReasonBar";
import type { AgentDetailFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button, buttonClasses } from "@/ui/Button";
import { PageHeader } from "@/ui/PageHeader";
import { AgentEditor } from "./AgentEditor";
import { ArchiveAgent } from "./ArchiveAgent";
import { draftProblems } from "./draft";
import { FIELD_LABELS } from "./fields";
import { useAgentEditing } from "./useAgentEditing";

export function ExistingAgent({ agent }: { agent: AgentDetailFragment }) {
  const editing = useAgentEditing(agent);
  const mayWrite = useMay("CATALOG_WRITE");
  const mayRun = useMay("SESSIONS_WRITE");
  const archived = agent.lifecycle !== "ACTIVE";
  const problems = draftProblems(editing.draft);

  return (
    <>
      <PageHeader
        subject={agent.displayName}
        title={
          <span className="flex flex-wrap items-center gap-2">
            <Link to="/agents" className="font-normal text-ink-3 hover:text-ink">
              Agents
            </Link>
            <span className="text-ink-3" aria-hidden>
              /
            </span>
            <span className="truncate">{agent.displayName}</span>
            <Badge title="Grows by one with every change">rev {agent.revision}</Badge>
            {archived && <Badge tone="warn">{agent.lifecycle.toLowerCase()}</Badge>}
          </span>
        }
      >
        {editing.dirty && (
          <Button look="ghost" onClick={editing.reset}>
            Discard changes
          </Button>
        )}
        <Link
          to="/agents/$agentId/history"
          params={{ agentId: agent.id }}
          className={buttonClasses("ghost")}
        >
          <History size={15} aria-hidden />
          History
        </Link>
        <ArchiveAgent agent={agent} />
        {mayRun && !archived && (
          <Link to="/sessions" search={{ new: agent.id }} className={buttonClasses()}>
            <MessageSquarePlus size={15} aria-hidden />
            New session
          </Link>
        )}
        {mayWrite && !archived && (
          <Button
            look="primary"
            type="submit"
            form="agent"
            disabled={!editing.dirty || editing.saving || Object.keys(problems).length > 0}
          >
            {editing.saving ? "Saving…" : "Save"}
          </Button>
        )}
      </PageHeader>
      <EditingNotices
        what="agent"
        outdated={editing.outdated}
        clashes={editing.clashes.map((field) => FIELD_LABELS[field])}
        onTakeTheirs={editing.takeTheirs}
      />
      {editing.dirty && mayWrite && (
        <ReasonBar value={editing.reason} onChange={editing.setReason} form="agent" />
      )}
      <AgentEditor
        draft={editing.draft}
        onChange={editing.setDraft}
        onSubmit={editing.save}
        refusals={editing.refusals}
        problems={problems}
        failure={editing.failure}
        mode={archived || !mayWrite ? "read" : "edit"}
      />
    </>
  );
}
