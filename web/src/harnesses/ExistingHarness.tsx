import { Link } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import { ArchiveButton } from "@/catalog/ArchiveButton";
import { DefinitionPage, HistoryLabel } from "@/definitions/DefinitionPage";
import { definitionProblems } from "@/definitions/draft";
import { useEditing } from "@/definitions/useEditing";
import {
  ArchiveHarnessDocument,
  type HarnessDetailFragment,
  HarnessDocument,
  UnarchiveHarnessDocument,
  UpdateHarnessDocument,
} from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { buttonClasses } from "@/ui/Button";
import { draftOf, FIELD_LABELS, updateInput } from "./draft";
import { HarnessEditor } from "./HarnessEditor";

export function ExistingHarness({ harness }: { harness: HarnessDetailFragment }) {
  const editing = useEditing({
    kind: "harness",
    saved: harness,
    draftOf,
    inputOf: updateInput,
    update: UpdateHarnessDocument,
    query: HarnessDocument,
  });
  const mayWrite = useMay("CATALOG_WRITE");
  const { id, builtIn } = harness;
  return (
    <DefinitionPage
      kind="harness"
      saved={harness}
      editing={editing}
      problems={definitionProblems(editing.draft)}
      labels={FIELD_LABELS}
      list={<Link to="/harnesses">Harnesses</Link>}
      actions={
        <>
          <Link
            to="/harnesses/$harnessId/history"
            params={{ harnessId: id }}
            className={buttonClasses("ghost")}
          >
            <HistoryLabel />
          </Link>
          {!builtIn && (
            <ArchiveButton
              thing={harness}
              consequences="It becomes read-only and is hidden from lists. Agents and sessions that run on it, or on a harness below it, stop at their next step."
              archive={ArchiveHarnessDocument}
              unarchive={UnarchiveHarnessDocument}
            />
          )}
          {mayWrite && harness.lifecycle === "ACTIVE" && (
            <Link
              to="/harnesses/new"
              search={{ parent: id }}
              className={buttonClasses("secondary", editing.dirty ? "max-sm:hidden" : "")}
            >
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
