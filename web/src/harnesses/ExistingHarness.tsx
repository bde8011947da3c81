import { Link } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import { DefinitionPage, HistoryLabel } from "@/definitions/DefinitionPage";
import { definitionProblems } from "@/definitions/draft";
import type { HarnessDetailFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { ArchiveHarness } from "./ArchiveHarness";
import { FIELD_LABELS } from "./draft";
import { HarnessEditor } from "./HarnessEditor";
import { useHarnessEditing } from "./useHarnessEditing";

export function ExistingHarness({ harness }: { harness: HarnessDetailFragment }) {
  const editing = useHarnessEditing(harness);
  const mayWrite = useMay("CATALOG_WRITE");
  const { id, builtIn } = harness;
  return (
    <DefinitionPage
      kind="harness"
      saved={harness}
      editing={editing}
      problems={definitionProblems(editing.draft)}
      labels={FIELD_LABELS}
      list={
        <Link to="/harnesses" className="font-normal text-ink-3 hover:text-ink">
          Harnesses
        </Link>
      }
      actions={
        <>
          <Link
            to="/harnesses/$harnessId/history"
            params={{ harnessId: id }}
            className={buttonClasses("ghost")}
          >
            <HistoryLabel />
          </Link>
          {!builtIn && <ArchiveHarness harness={harness} />}
          {mayWrite && harness.lifecycle === "ACTIVE" && (
            <Link to="/harnesses/new" search={{ parent: id }} className={buttonClasses()}>
              <GitFork size={15} aria-hidden />
              New child
            </Link>
          )}
        </>
      }
      editor={(props) => <HarnessEditor {...props} saved={harness} />}
    />
  );
}
