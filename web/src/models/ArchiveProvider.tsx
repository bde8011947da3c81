import { Archive } from "lucide-react";
import { useState } from "react";
import { useAction } from "@/api/useAction";
import { ArchiveProviderDocument, type ProviderRowFragment } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ConfirmDialog } from "@/ui/ConfirmDialog";

/** Archiving can't be undone and fails the turns that need its models, so it asks first. */
export function ArchiveProvider({ provider }: { provider: ProviderRowFragment }) {
  const archive = useAction(ArchiveProviderDocument);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button look="ghost" onClick={() => setAsking(true)}>
        <Archive size={15} aria-hidden />
        Archive
      </Button>
      {asking && (
        <ConfirmDialog
          title={`Archive ${provider.name}`}
          action="Archive"
          state={archive}
          onConfirm={() => archive.run({ id: provider.id })}
          onClose={() => setAsking(false)}
        >
          The provider is hidden and its models can't be chosen. Turns that need them use their
          fallback models or fail. This can't be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
