import { Archive, ArchiveRestore } from "lucide-react";
import { useState } from "react";
import type { Lifecycle } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";

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
      <Dialog
        open={asking}
        onClose={() => finish(undefined)}
        title={`${archived ? "Unarchive" : "Archive"} ${thing.displayName}`}
      >
        <div className="space-y-4 p-4 text-sm">
          {problem && <ErrorNote>{problem}</ErrorNote>}
          {!archived && (
            <p className="text-ink-2">{consequences} You can unarchive it at any time.</p>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={() => finish(undefined)}>Cancel</Button>
            <Button
              look={archived ? "primary" : "danger"}
              onClick={() => void (archived ? runUnarchive() : runArchive())}
            >
              {archived ? "Unarchive" : "Archive"}
            </Button>
          </div>
        </div>
      </Dialog>
    </>
  );
}
