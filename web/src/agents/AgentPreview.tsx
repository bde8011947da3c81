import { useEffect, useState } from "react";
import { useQuery } from "urql";
import { EffectiveConfigView } from "@/config/EffectiveConfigView";
import { type EffectiveConfigFieldsFragment, PreviewEffectiveConfigDocument } from "@/gql/graphql";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { useDebounced } from "@/ui/useDebounced";
import { type AgentDraft, createInput, emptyDraft, previewOf } from "./draft";

const SETTLE_MS = 350;

/** Works out what the agent would really run with, while it is being edited. */
export function useAgentPreview(draft: AgentDraft) {
  const settled = useDebounced(draft, SETTLE_MS);
  const { input, missing } = previewOf(settled);
  const [{ data, error, fetching }] = useQuery({
    query: PreviewEffectiveConfigDocument,
    variables: {
      harnessId: settled.harnessId || null,
      agent: input ?? createInput(emptyDraft),
    },
    pause: input === null,
  });
  const current = data?.previewEffectiveConfig ?? null;
  return {
    shown: useLatest(current),
    missing,
    error,
    updating: fetching || settled !== draft,
    gone: !fetching && !error && data !== undefined && current === null,
  };
}

/** What the agent would run with. */
export function AgentPreview(props: ReturnType<typeof useAgentPreview>) {
  const { shown, missing, error, updating, gone } = props;
  return (
    <aside aria-label="Effective config" className="min-w-0">
      <div className="mb-1.5 flex h-5 items-center justify-between">
        <h2 className="text-sm font-medium">Effective config</h2>
        {updating && <Spinner label="Updating" />}
      </div>
      {missing && <p className="mb-1.5 text-xs text-warn">{missing}</p>}
      <RequestError error={error} />
      {gone && (
        <ErrorNote>There is no preview: the harness is archived or does not exist.</ErrorNote>
      )}
      {shown && <EffectiveConfigView config={shown} />}
    </aside>
  );
}

/** Keeps the last preview on screen until the next is there, so that the page doesn't jump. */
function useLatest(
  config: EffectiveConfigFieldsFragment | null,
): EffectiveConfigFieldsFragment | null {
  const [latest, setLatest] = useState(config);
  useEffect(() => {
    if (config) setLatest(config);
  }, [config]);
  return config ?? latest;
}
