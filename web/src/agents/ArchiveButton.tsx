import { Archive, ArchiveRestore } from "lucide-react";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import {
  type AgentDetailFragment,
  ArchiveAgentDocument,
  UnarchiveAgentDocument,
} from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";

/** Archiving stops the running sessions of an agent at their next step, so it asks first. */
export function ArchiveButton({ agent }: { agent: AgentDetailFragment }) {
  const [, archive] = useMutation(ArchiveAgentDocument);
  const [, unarchive] = useMutation(UnarchiveAgentDocument);
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const mayArchive = useMay("CATALOG_DELETE");
  const mayWrite = useMay("CATALOG_WRITE");
  const { id } = agent;

  const finish = (refusal: string | undefined) => {
    setProblem(refusal ?? null);
    setAsking(refusal !== undefined);
  };
  const runArchive = async () => {
    const { data, error } = await archive({ id });
    finish(error ? describeError(error) : data?.archiveAgent.userErrors[0]?.message);
  };
  const runUnarchive = async () => {
    const { data, error } = await unarchive({ id });
    finish(error ? describeError(error) : data?.unarchiveAgent.userErrors[0]?.message);
  };

  const archived = agent.lifecycle === "ARCHIVED";
  if (archived ? !mayWrite : !mayArchive || agent.lifecycle !== "ACTIVE") return null;

  return (
    <>
      <Button look="ghost" onClick={() => (archived ? void runUnarchive() : setAsking(true))}>
        {archived ? <ArchiveRestore size={15} /> : <Archive size={15} />}
        {archived ? "Unarchive" : "Archive"}
      </Button>
      <Dialog
        open={asking}
        onClose={() => finish(undefined)}
        title={`${archived ? "Unarchive" : "Archive"} ${agent.displayName}`}
      >
        <div className="space-y-4 p-4 text-sm">
          {problem && <ErrorNote>{problem}</ErrorNote>}
          {!archived && (
            <p className="text-ink-2">
              It becomes read-only, is hidden from lists and can't start new sessions. Sessions that
              run it stop at their next step. You can unarchive it at any time.
            </p>
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
