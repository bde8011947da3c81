import { Link } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { useMemo, useState } from "react";
import PauseNote from "@/session/budget/PauseNote";
import { ChatActionsContext } from "@/session/chat/actions";
import { ChatItemView } from "@/session/chat/ChatItemView";
import ChatWaits from "@/session/chat/ChatWaits";
import { Working } from "@/session/chat/Working";
import { useSessionFeed } from "@/session/feed/useSessionFeed";
import { ConnectionBanner } from "@/shell/ConnectionBanner";
import type { TrialSession } from "./useTrial";

/** The conversation with one version, as it comes. */
export function TrialChat({ label, sessionId }: TrialSession) {
  const feed = useSessionFeed(sessionId);
  const { items, status, activeTurnId, budgetVersion } = feed.session;
  const [opened] = useState(() => new Set<string>());
  const actions = useMemo(
    () => ({
      sessionId,
      // What else can be done with a session is done on its page.
      mayWrite: false,
      latestTurnId: null,
      budgetVersion,
      send: () => {},
      opened,
      sessionOf: () => sessionId,
      inputOf: () => null,
      feedback: {},
      onRated: () => {},
      onComment: () => {},
    }),
    [sessionId, budgetVersion, opened],
  );
  return (
    <section aria-label={label} className="min-w-0">
      <h3 className="flex items-center gap-1.5 text-xs font-medium text-ink-2">
        {label}
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId }}
          aria-label={`Open the session of ${label}`}
          title="Open the session"
          className="rounded p-0.5 text-ink-3 hover:text-ink"
        >
          <ExternalLink size={12} aria-hidden />
        </Link>
      </h3>
      <ConnectionBanner connection={feed.connection} />
      <ChatActionsContext value={actions}>
        <div role="log" aria-label={`Conversation with ${label}`} className="text-sm">
          {items.map((item) => (
            <ChatItemView key={`${item.kind}:${item.id}`} item={item} />
          ))}
          {activeTurnId !== null && (
            <>
              <ChatWaits sessionId={sessionId} feed={feed} />
              <Working status={status} />
            </>
          )}
        </div>
      </ChatActionsContext>
      {status === "PAUSED" && (
        <div className="mt-3">
          <PauseNote sessionId={sessionId} version={budgetVersion} />
        </div>
      )}
    </section>
  );
}
