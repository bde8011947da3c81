import { History } from "lucide-react";
import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { describeError } from "@/api/errors";
import { EditingNotices } from "@/catalog/EditingNotices";
import { ReasonBar } from "@/catalog/ReasonBar";
import type { useDraftEditing } from "@/catalog/useDraftEditing";
import type { Lifecycle } from "@/gql/graphql";
import { NotFound } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { PageHeader } from "@/ui/PageHeader";
import type { EditorProps } from "./DefinitionEditor";

interface DefinitionPageProps<Draft extends object> {
  kind: "agent" | "harness";
  saved: { displayName: string; revision: number; lifecycle: Lifecycle; builtIn?: boolean };
  editing: ReturnType<typeof useDraftEditing<Draft>>;
  problems: Partial<Record<keyof Draft, string>>;
  labels: Record<keyof Draft, string>;
  /** The link to the list. */
  list: ReactNode;
  /** What can be done with it; the link to its history is first. */
  actions: ReactNode;
  editor: (props: EditorProps<Draft>) => ReactNode;
}

/** The page of an agent or a harness that exists. */
export function DefinitionPage<Draft extends object>(props: DefinitionPageProps<Draft>) {
  const { kind, saved, editing, problems, labels } = props;
  const mayWrite = useMay("CATALOG_WRITE");
  const archived = saved.lifecycle !== "ACTIVE";
  const editable = mayWrite && !archived && !saved.builtIn;
  return (
    <>
      <PageHeader
        subject={saved.displayName}
        title={
          <span className="flex flex-wrap items-center gap-2">
            {props.list}
            <span className="text-ink-3" aria-hidden>
              /
            </span>
            <span className="truncate">{saved.displayName}</span>
            <Badge title="Grows by one with every change">rev {saved.revision}</Badge>
            {saved.builtIn && <Badge>built in</Badge>}
            {archived && <Badge tone="warn">{saved.lifecycle.toLowerCase()}</Badge>}
          </span>
        }
      >
        {editing.dirty && (
          <Button look="ghost" onClick={editing.reset}>
            Discard changes
          </Button>
        )}
        {props.actions}
        {editable && (
          <Button
            look="primary"
            type="submit"
            form={kind}
            disabled={!editing.dirty || editing.saving || Object.keys(problems).length > 0}
          >
            {editing.saving ? "Saving…" : "Save"}
          </Button>
        )}
      </PageHeader>
      <EditingNotices
        what={kind}
        outdated={editing.outdated}
        clashes={editing.clashes.map((field) => labels[field])}
        onTakeTheirs={editing.takeTheirs}
      />
      {editing.dirty && mayWrite && (
        <ReasonBar value={editing.reason} onChange={editing.setReason} form={kind} />
      )}
      {props.editor({
        draft: editing.draft,
        onChange: editing.setDraft,
        onSubmit: editing.save,
        refusals: editing.refusals,
        problems,
        failure: editing.failure,
        mode: editable ? "edit" : "read",
      })}
    </>
  );
}

export function HistoryLabel() {
  return (
    <>
      <History size={15} aria-hidden />
      History
    </>
  );
}

interface MissingProps {
  fetching: boolean;
  error: CombinedError | undefined;
  reload: (options?: { requestPolicy: "network-only" }) => void;
}

/** What is shown while an agent or a harness is being read, and when it can't be. */
export function DefinitionMissing({ fetching, error, reload }: MissingProps) {
  return (
    <div className="p-6">
      {fetching && <Spinner />}
      {error && (
        <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
          {describeError(error)}
        </ErrorNote>
      )}
      {!fetching && !error && <NotFound />}
    </div>
  );
}
