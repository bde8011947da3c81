import { Hourglass, MessageSquareDashed } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { Spinner } from "@/ui/Loading";
import type { FeedSnapshot } from "../feed/feed";
import { ChatActionsContext } from "./actions";
import { ChatItemView } from "./ChatItemView";
import { Composer } from "./Composer";
import { JumpToLatest } from "./JumpToLatest";
import { latestEndedTurn } from "./latestTurn";
import { OutboxList } from "./OutboxList";
import { QueuedTurns } from "./QueuedTurns";
import { StopButton } from "./StopButton";
import { useFollow } from "./useFollow";
import { useOutbox } from "./useOutbox";
import { useStop } from "./useStop";

// Most sessions are read without anything waiting in them.
const ChatWaits = lazy(() => import("./ChatWaits"));
const PauseNote = lazy(() => import("../budget/PauseNote"));

interface ChatViewProps {
  sessionId: string;
  feed: FeedSnapshot;
  /** The turn that was being stopped when this page was opened. */
  stoppingTurnId: string | null;
}

/** Long sessions begin with their latest items; the rest is one click away. */
const ITEMS_AT_FIRST = 200;

export function ChatView({ sessionId, feed, stoppingTurnId }: ChatViewProps) {
  const { session } = feed;
  const { scroller, content, following, jump } = useFollow();
  const { outbox, entries } = useOutbox(sessionId, feed);
  const [limit, setLimit] = useState(ITEMS_AT_FIRST);
  const mayWrite = useMay("SESSIONS_WRITE");

  const queued = new Set(session.queuedTurnIds);
  const items = session.items.filter(
    (item) => !(item.kind === "user" && item.turnId !== null && queued.has(item.turnId)),
  );
  const hidden = Math.max(0, items.length - limit);
  const working = session.activeTurnId !== null;
  const paused = session.status === "PAUSED";
  const waiting = paused || session.status === "WAITING";
  const stop = useStop(session.activeTurnId, stoppingTurnId, mayWrite);

  const { turns, budgetVersion } = session;
  const latestTurnId = entries.length > 0 ? null : latestEndedTurn(session);
  const send = useCallback(
    (text: string) => {
      outbox.add(text, "STEER");
      jump();
    },
    [outbox, jump],
  );
  const actions = useMemo(
    () => ({
      sessionId,
      mayWrite,
      latestTurnId,
      budgetVersion,
      send,
      sessionOf: (turnId: string) => turns[turnId]?.sessionId ?? sessionId,
    }),
    [sessionId, mayWrite, latestTurnId, budgetVersion, send, turns],
  );

  return (
    <ChatActionsContext value={actions}>
      <div className="relative flex min-h-0 flex-1 flex-col">
        <div
          ref={scroller}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
          tabIndex={0}
          className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
        >
          <div ref={content} className="mx-auto max-w-3xl px-4 py-6 sm:px-6">
            {!session.caughtUp && items.length === 0 && <Spinner />}
            {session.caughtUp && items.length === 0 && entries.length === 0 && (
              <NoMessages sessionId={sessionId} mayWrite={mayWrite} />
            )}
            {hidden > 0 && (
              <div className="mb-6 flex justify-center">
                <Button onClick={() => setLimit(limit + ITEMS_AT_FIRST)}>
                  Show earlier ({hidden})
                </Button>
              </div>
            )}
            <div role="log" aria-label="Conversation" aria-busy={working} className="flex flex-col">
              {items.slice(hidden).map((item) => (
                <ChatItemView key={`${item.kind}:${item.id}`} item={item} />
              ))}
            </div>
            <OutboxList entries={entries} outbox={outbox} />
            {working && (
              <Suspense>
                <ChatWaits sessionId={sessionId} feed={feed} />
              </Suspense>
            )}
            {working && <Working waiting={waiting} paused={paused} stopping={stop.stopping} />}
          </div>
        </div>
        {!following && <JumpToLatest onClick={jump} />}
        <div className="shrink-0 px-4 pb-4 sm:px-6">
          <div className="mx-auto max-w-3xl">
            <QueuedTurns
              sessionId={sessionId}
              session={session}
              mayWrite={mayWrite}
              onSend={send}
            />
            {stop.problem && (
              <p role="alert" className="mb-2 text-sm text-bad wrap-anywhere">
                {stop.problem}
              </p>
            )}
            {paused && (
              <Suspense>
                <PauseNote sessionId={sessionId} version={budgetVersion} />
              </Suspense>
            )}
            {!mayWrite && (
              <p className="border-t border-line pt-3 text-center text-xs text-ink-3">
                Your role may read this session, and not write in it.
              </p>
            )}
            {mayWrite && (
              <Composer
                sessionId={sessionId}
                working={working}
                paused={paused}
                onSend={(text, delivery, images) => {
                  outbox.add(text, delivery, images);
                  jump();
                }}
              >
                <StopButton stopping={stop.stopping} onStop={stop.stop} />
              </Composer>
            )}
          </div>
        </div>
      </div>
    </ChatActionsContext>
  );
}

interface WorkingProps {
  waiting: boolean;
  paused: boolean;
  stopping: boolean;
}

function Working({ waiting, paused, stopping }: WorkingProps) {
  const held = paused ? "Paused" : waiting ? "Waiting" : null;
  const words = stopping ? "Stopping…" : held;
  if (words !== null) {
    return (
      <p role="status" className="mt-4 flex items-center gap-1.5 text-xs text-ink-3">
        <Hourglass size={12} aria-hidden />
        {words}
      </p>
    );
  }
  return (
    <div role="status" className="mt-4 flex items-center gap-1 text-ink-3" aria-label="Working">
      {[0, 1, 2].map((dot) => (
        <span
          key={dot}
          className="size-1.5 animate-pulse-soft rounded-full bg-current"
          style={{ animationDelay: `${dot * 200}ms` }}
        />
      ))}
    </div>
  );
}

function NoMessages({ sessionId, mayWrite }: { sessionId: string; mayWrite: boolean }) {
  if (!mayWrite) {
    return (
      <EmptyState icon={<MessageSquareDashed size={20} />} title="Nothing was said yet">
        What is said here will appear by itself.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<MessageSquareDashed size={20} />}
      title="Nothing was said yet"
      request={curlRequest(
        "mutation ($input: SendMessageInput!) { sendMessage(input: $input) { turn { id } userErrors { path message } } }",
        { input: { sessionId, content: [{ text: "Hello" }] } },
      )}
    >
      Write a message below. The agent works in the background; you can close this page at any time.
    </EmptyState>
  );
}
