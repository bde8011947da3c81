import { useFresh, useReloadOn } from "@/api/useFresh";
import { EffectiveConfigView } from "@/config/EffectiveConfigView";
import { SessionEffectiveConfigDocument } from "@/gql/graphql";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";

interface SessionConfigViewProps {
  sessionId: string;
  /** Grows when an event changed what the config is made of. */
  configVersion: number;
}

export default function SessionConfigView({ sessionId, configVersion }: SessionConfigViewProps) {
  const { data, error, fetching, reload } = useFresh(SessionEffectiveConfigDocument, {
    id: sessionId,
  });
  useReloadOn(configVersion, reload);

  const config = data?.session?.effectiveConfig;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto max-w-3xl space-y-4 p-4 sm:p-6">
        <p className="text-sm text-ink-2">
          What a turn started now would run with: settings of the harness, then the agent, then this
          session.
        </p>
        <RequestError error={error} />
        {fetching && !config && <Spinner />}
        {data?.session && !config && (
          <ErrorNote>
            The harness or agent is gone, so no turn can start. Start a new session with another
            agent.
          </ErrorNote>
        )}
        {config && <EffectiveConfigView config={config} />}
      </div>
    </div>
  );
}
