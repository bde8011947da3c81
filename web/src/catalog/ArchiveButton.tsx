import { Archive, ArchiveRestore } from "lucide-react";
import { useState } from "react";
import type { Lifecycle } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";

interface ArchiveButtonProps {
  thing: { displayName: string; lifecycle: Lifecycle };
  /** What archiving does to this kind of thing. */
  consequences: string;
  /** Both give what was refused or went wrong; undefined when it worked. */
  archive: () => Promise<string | undefined>;
  unarchive: () => Promise<string | undefined>;
}

/** Archiving stops running sessions at their next step, so it asks first. */
export function ArchiveButton({ thing, consequences, archive, unarchive }: ArchiveButtonProps) {
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const mayArchive = useMay("CATALOG_DELETE");
  const mayWrite = useMay("CATALOG_WRITE");

  const finish = (refusal: string | undefined) => {
    setProblem(refusal ?? null);
    setAsking(refusal !== undefined);
  };
  const runArchive = async () => finish(await archive());
  const runUnarchive = async () => finish(await unarchive());

  const archived = thing.lifecycle === "ARCHIVED";
  if (archived ? !mayWrite : !mayArchive || thing.lifecycle !== "ACTIVE") return null;

  return (
    <>
      <Button look="ghost" onClick={() => (archived ? void runUnarchive() : setAsking(true))}>
        {archived ? <ArchiveRestore size={15} /> : <Archive size={15} />}
        {archived ? "Unarchive" : "Archive"}
      </Button>
      {asking && (
        <ConfirmDialog
          title={`${archived ? "Unarchive" : "Archive"} ${thing.displayName}`}
          action={archived ? "Unarchive" : "Archive"}
          state={{ busy: false, failure: problem, refusals: [] }}
          onConfirm={() => void (archived ? runUnarchive() : runArchive())}
          onClose={() => finish(undefined)}
        >
          {!archived && `${consequences} You can unarchive it at any time.`}
        </ConfirmDialog>
      )}
    </>
  );
}
