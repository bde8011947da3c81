import { History } from "lucide-react";
import type { ReactNode } from "react";
import { EditingNotices } from "@/catalog/EditingNotices";
import { ReasonBar } from "@/catalog/ReasonBar";
import type { Lifecycle } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { PageHeader, Trail } from "@/ui/PageHeader";
import type { EditorProps } from "./DefinitionEditor";
import type { Editing } from "./useEditing";

interface DefinitionPageProps<Draft extends object> {
  kind: "agent" | "harness";
  saved: { displayName: string; revision: number; lifecycle: Lifecycle; builtIn?: boolean };
  editing: Editing<Draft>;
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
          <Trail list={props.list} name={saved.displayName}>
            <Badge title="Grows by one with every change">rev {saved.revision}</Badge>
            {saved.builtIn && <Badge>built in</Badge>}
            {archived && <Badge tone="warn">{saved.lifecycle.toLowerCase()}</Badge>}
          </Trail>
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
      <span className="max-sm:sr-only">History</span>
    </>
  );
}
