import { useFresh, useReloadOn } from "@/api/useFresh";
import { EffectiveConfigView } from "@/config/EffectiveConfigView";
import { HarnessEffectiveConfigDocument } from "@/gql/graphql";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";

/** Reads what a harness runs with as it is saved; without one, what the parent brings. */
export function useHarnessPreview(
  saved: { id: string; revision: number } | null,
  parentId: string,
) {
  const harnessId = saved?.id ?? parentId;
  const { data, error, fetching, reload } = useFresh(
    HarnessEffectiveConfigDocument,
    { harnessId },
    harnessId === "",
  );
  const revision = saved?.revision;
  useReloadOn(revision, reload);

  const config = harnessId === "" ? null : data?.previewEffectiveConfig;
  return {
    config,
    error,
    fetching,
    none: harnessId === "",
    gone: !fetching && !error && data !== undefined && !config,
  };
}

interface HarnessPreviewProps extends ReturnType<typeof useHarnessPreview> {
  saved: boolean;
}

/** What a session on this harness alone would run with, as it is saved. */
export function HarnessPreview({
  saved,
  config,
  error,
  fetching,
  none,
  gone,
}: HarnessPreviewProps) {
  return (
    <aside aria-label="Effective config" className="min-w-0">
      <h2 className="text-sm font-medium">Effective config</h2>
      <p className="mb-1.5 text-xs text-ink-3">
        {saved
          ? "What a session on this harness runs with, as it is saved now."
          : "What the parent brings, before anything is added."}
      </p>
      <RequestError error={error} />
      {fetching && !config && <Spinner />}
      {none && <p className="text-sm text-ink-3">Nothing: it has no parent.</p>}
      {gone && !none && (
        <ErrorNote>There is no preview: a harness that it inherits from is archived.</ErrorNote>
      )}
      {config && <EffectiveConfigView config={config} />}
    </aside>
  );
}
