import { Archive } from "lucide-react";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { ArchiveProviderDocument, type ProviderRowFragment } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";

/** Archiving can't be undone and fails the turns that need its models, so it asks first. */
export function ArchiveProvider({ provider }: { provider: ProviderRowFragment }) {
  const [{ error, data, fetching }, archive] = useMutation(ArchiveProviderDocument);
  const [asking, setAsking] = useState(false);
  const problem = error ? describeError(error) : data?.archiveProvider.userErrors[0]?.message;
  const run = async () => {
    const answer = await archive({ id: provider.id });
    if (answer.data?.archiveProvider.provider) setAsking(false);
  };
  return (
    <>
      <Button look="ghost" onClick={() => setAsking(true)}>
        <Archive size={15} aria-hidden />
        Archive
      </Button>
      <Dialog open={asking} onClose={() => setAsking(false)} title={`Archive ${provider.name}`}>
        <div className="space-y-4 p-4 text-sm">
          {problem && <ErrorNote>{problem}</ErrorNote>}
          <p className="text-ink-2">
            The provider is hidden and its models can't be chosen. Turns that need them use their
            fallback models or fail. This can't be undone.
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button look="danger" disabled={fetching} onClick={() => void run()}>
              Archive
            </Button>
          </div>
        </div>
      </Dialog>
    </>
  );
}
