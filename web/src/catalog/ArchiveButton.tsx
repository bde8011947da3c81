import { Archive, ArchiveRestore } from "lucide-react";
import { useState } from "react";
import type { TypedDocumentNode } from "urql";
import { type Payload, useAction } from "@/api/useAction";
import type { Lifecycle } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";

interface ArchiveButtonProps<Archived, Unarchived> {
  thing: { id: string; displayName: string; lifecycle: Lifecycle };
  /** What archiving does to this kind of thing. */
  consequences: string;
  archive: TypedDocumentNode<Archived, { id: string }>;
  unarchive: TypedDocumentNode<Unarchived, { id: string }>;
}

/** Archiving stops running sessions at their next step, so it asks first. */
export function ArchiveButton<
  Archived extends Record<string, Payload>,
  Unarchived extends Record<string, Payload>,
>(props: ArchiveButtonProps<Archived, Unarchived>) {
  const { thing, consequences } = props;
  const archive = useAction(props.archive);
  const unarchive = useAction(props.unarchive);
  const [asking, setAsking] = useState(false);
  const mayArchive = useMay("CATALOG_DELETE");
  const mayWrite = useMay("CATALOG_WRITE");

  const archived = thing.lifecycle === "ARCHIVED";
  const act = archived ? unarchive : archive;
  // What was refused is said in the dialog.
  const run = async () => setAsking((await act.run({ id: thing.id })) === null);
  if (archived ? !mayWrite : !mayArchive || thing.lifecycle !== "ACTIVE") return null;

  return (
    <>
      <Button look="ghost" onClick={() => (archived ? void run() : setAsking(true))}>
        {archived ? <ArchiveRestore size={15} /> : <Archive size={15} />}
        <span className="max-sm:sr-only">{archived ? "Unarchive" : "Archive"}</span>
      </Button>
      {asking && (
        <ConfirmDialog
          title={`${archived ? "Unarchive" : "Archive"} ${thing.displayName}`}
          action={archived ? "Unarchive" : "Archive"}
          state={act}
          onConfirm={() => void run()}
          onClose={() => setAsking(false)}
        >
          {!archived && `${consequences} You can unarchive it at any time.`}
        </ConfirmDialog>
      )}
    </>
  );
}
