import { Link } from "@tanstack/react-router";
import { MessageSquarePlus } from "lucide-react";
import type { AgentDetailFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button, buttonClasses } from "@/ui/Button";
import { PageHeader } from "@/ui/PageHeader";
import { AgentEditor } from "./AgentEditor";
import { ArchiveButton } from "./ArchiveButton";
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
        title={
          <span className="flex items-center gap-2">
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
        <ArchiveButton agent={agent} />
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
      {editing.outdated && (
        <Notice>
          <span className="flex-1">
            Someone else changed this agent since you began to edit it.
          </span>
          <Button onClick={editing.takeTheirs}>Reload and keep my input</Button>
        </Notice>
      )}
      {editing.clashes.length > 0 && (
        <Notice>
          Both of you changed {editing.clashes.map((field) => FIELD_LABELS[field]).join(", ")}. What
          is shown is yours; saving replaces theirs.
        </Notice>
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

function Notice({ children }: { children: React.ReactNode }) {
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-3 border-b border-line bg-warn-soft px-4 py-2 text-sm text-warn sm:px-6"
    >
      {children}
    </div>
  );
}
