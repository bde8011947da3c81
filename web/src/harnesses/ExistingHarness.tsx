import { Link } from "@tanstack/react-router";
import { GitFork, History } from "lucide-react";
import { EditingNotices } from "@/catalog/EditingNotices";
import { ReasonBar } from "@/catalog/ReasonBar";
import type { HarnessDetailFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button, buttonClasses } from "@/ui/Button";
import { PageHeader } from "@/ui/PageHeader";
import { ArchiveHarness } from "./ArchiveHarness";
import { draftProblems, FIELD_LABELS } from "./draft";
import { HarnessEditor } from "./HarnessEditor";
import { useHarnessEditing } from "./useHarnessEditing";

export function ExistingHarness({ harness }: { harness: HarnessDetailFragment }) {
  const editing = useHarnessEditing(harness);
  const mayWrite = useMay("CATALOG_WRITE");
  const { id, builtIn } = harness;
  const archived = harness.lifecycle !== "ACTIVE";
  const editable = mayWrite && !archived && !builtIn;

  return (
    <>
      <PageHeader
        subject={harness.displayName}
        title={
          <span className="flex flex-wrap items-center gap-2">
            <Link to="/harnesses" className="font-normal text-ink-3 hover:text-ink">
              Harnesses
            </Link>
            <span className="text-ink-3" aria-hidden>
              /
            </span>
            <span className="truncate">{harness.displayName}</span>
            <Badge title="Grows by one with every change">rev {harness.revision}</Badge>
            {builtIn && <Badge>built in</Badge>}
            {archived && <Badge tone="warn">{harness.lifecycle.toLowerCase()}</Badge>}
          </span>
        }
      >
        {editing.dirty && (
          <Button look="ghost" onClick={editing.reset}>
            Discard changes
          </Button>
        )}
        <Link
          to="/harnesses/$harnessId/history"
          params={{ harnessId: id }}
          className={buttonClasses("ghost")}
        >
          <History size={15} aria-hidden />
          History
        </Link>
        {!builtIn && <ArchiveHarness harness={harness} />}
        {mayWrite && !archived && (
          <Link to="/harnesses/new" search={{ parent: id }} className={buttonClasses()}>
            <GitFork size={15} aria-hidden />
            New child
          </Link>
        )}
        {editable && (
          <Button
            look="primary"
            type="submit"
            form="harness"
            disabled={
              !editing.dirty ||
              editing.saving ||
              Object.keys(draftProblems(editing.draft)).length > 0
            }
          >
            {editing.saving ? "Saving…" : "Save"}
          </Button>
        )}
      </PageHeader>
      <EditingNotices
        what="harness"
        outdated={editing.outdated}
        clashes={editing.clashes.map((field) => FIELD_LABELS[field])}
        onTakeTheirs={editing.takeTheirs}
      />
      {editing.dirty && mayWrite && (
        <ReasonBar value={editing.reason} onChange={editing.setReason} form="harness" />
      )}
      <HarnessEditor
        draft={editing.draft}
        onChange={editing.setDraft}
        onSubmit={editing.save}
        refusals={editing.refusals}
        failure={editing.failure}
        mode={editable ? "edit" : "read"}
        saved={harness}
      />
    </>
  );
}
