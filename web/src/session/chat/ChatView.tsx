import { useSearch } from "@tanstack/react-router";
import { Suspense, useCallback, useMemo, useRef, useState } from "react";
import { lazy } from "@/api/reachable";
import type { Delivery } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Spinner } from "@/ui/Loading";
import { keyOf } from "../feed/history";
import type { ChatItem } from "../feed/state";
import type { Feed } from "../feed/useSessionFeed";
import { EarlierLine } from "../tail/EarlierLine";
import { JumpToLatest } from "../tail/JumpToLatest";
import { useLink, useTail } from "../tail/useTail";
import { ChatActionsContext } from "./actions";
import { ChatItemView } from "./ChatItemView";
import { CommentDialog } from "./CommentDialog";
import { Composer } from "./Composer";
import { latestEndedTurn } from "./latestTurn";
import { NoMessages } from "./NoMessages";
import { OutboxList } from "./OutboxList";
import { QueuedTurns } from "./QueuedTurns";
import { StopButton } from "./StopButton";
import { withFiles } from "./textFiles";
import { titleOf } from "./titleOf";
import type { Attachment } from "./useAttachments";
import { type Say, useFeedback } from "./useFeedback";
import type { SessionOutbox } from "./useOutbox";
import { useStop } from "./useStop";
import { Working } from "./Working";

// Most sessions are read without anything waiting in them.
const ChatWaits = lazy(() => import("./ChatWaits"));
const PauseNote = lazy(() => import("../budget/PauseNote"));

interface ChatViewProps {
  sessionId: string;
  /** Null for none: then the first message gives it one. */
  title: string | null;
  feed: Feed;
  outbox: SessionOutbox;
  /** The turn that was being stopped when this page was opened. */
  stoppingTurnId: string | null;
}

export function ChatView({ sessionId, title, feed, outbox, stoppingTurnId }: ChatViewProps) {
  const { session } = feed;
  const { entries } = outbox;
  const mayWrite = useMay("SESSIONS_WRITE");

  const queued = new Set(session.queuedTurnIds);
  const items = session.items.filter(
    (item) => !(item.kind === "user" && item.turnId !== null && queued.has(item.turnId)),
  );
  const { message } = useSearch({ from: "/app/sessions/$sessionId" });
  const found = message === undefined ? -1 : items.findIndex(({ id }) => id === message);
  const tail = useTail({
    feed,
    keys: [...items.map(keyOf), "tail"],
    estimateSize: (index) => estimateHeight(items[index]),
    // What is linked to may be anywhere.
    whole: message !== undefined && found < 0,
  });
  const { scroller, list, away, jump } = tail;
  useLink(message, found, tail);
  const opened = useRef(new Set<string>());
  const working = session.activeTurnId !== null;
  const paused = session.status === "PAUSED";
  const stop = useStop(session.activeTurnId, stoppingTurnId, mayWrite);

  const empty = session.caughtUp && items.length === 0 && entries.length === 0;
  const untitled = empty && title === null;
  const { send: add } = outbox;
  const sendMessage = useCallback(
    (text: string, delivery: Delivery, attached: readonly Attachment[] = []) => {
      const files = attached.filter((each) => each.kind === "file");
      const images = attached.filter((each) => each.kind === "image");
      add({
        text: withFiles(text, files),
        delivery,
        files,
        images: images.map(({ id, url }) => ({ imageId: id, url })),
        title: untitled ? titleOf(text) : null,
      });
      jump();
    },
    [add, untitled, jump],
  );

  const { turns, budgetVersion } = session;
  const { feedback, onRated } = useFeedback(session.feedback);
  const [comment, setComment] = useState<{ turnId: string; own: Say } | null>(null);
  const latestTurnId = entries.length > 0 ? null : latestEndedTurn(session);
  const send = useCallback((text: string) => sendMessage(text, "STEER"), [sendMessage]);
  const actions = useMemo(
    () => ({
      sessionId,
      mayWrite,
      latestTurnId,
      budgetVersion,
      send,
      opened: opened.current,
      sessionOf: (turnId: string) => turns[turnId]?.sessionId ?? sessionId,
      feedback,
      onRated,
      onComment: (turnId: string, own: Say) => setComment({ turnId, own }),
      inputOf: (turnId: string) => turns[turnId]?.inputMessageId ?? null,
    }),
    [sessionId, mayWrite, latestTurnId, budgetVersion, send, turns, feedback, onRated],
  );

  const rows = list.getVirtualItems();
  return (
    <ChatActionsContext value={actions}>
      {comment && (
        <CommentDialog
          {...comment}
          onSaved={(say) => onRated(comment.turnId, say)}
          onClose={() => setComment(null)}
        />
      )}
      <div className="relative flex min-h-0 flex-1 flex-col">
        <div
          ref={scroller}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
          tabIndex={0}
          className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
        >
          {!session.caughtUp && <Spinner />}
          {empty && <NoMessages onSend={mayWrite ? send : null} />}
          <div className="relative" style={{ height: list.getTotalSize() }}>
            <EarlierLine feed={feed} />
            <div
              role="log"
              aria-label="Conversation"
              aria-busy={working}
              className="absolute inset-x-0 top-0 mx-auto max-w-3xl px-4 sm:px-6"
              style={{ transform: `translateY(${rows[0]?.start ?? 0}px)` }}
            >
              {rows.map(({ index, key }) => {
                const item = items[index];
                return (
                  <div
                    key={key}
                    ref={list.measureElement}
                    data-index={index}
                    data-linked={index === found || undefined}
                    className="flow-root data-linked:rounded-lg data-linked:bg-accent-soft/50"
                  >
                    {item ? (
                      <ChatItemView item={item} />
                    ) : (
                      <div className="pb-6">
                        <OutboxList entries={entries} outbox={outbox.outbox} />
                        {working && (
                          <Suspense>
                            <ChatWaits sessionId={sessionId} feed={feed} />
                          </Suspense>
                        )}
                        {working && <Working status={session.status} stopping={stop.stopping} />}
                      </div>
                    )}
                  </div>
                );
              })}
            </div>
          </div>
        </div>
        {away && <JumpToLatest onClick={jump} />}
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
                Your role can read this session, but not write to it.
              </p>
            )}
            {mayWrite && (
              <Composer
                sessionId={sessionId}
                working={working}
                paused={paused}
                onSend={sendMessage}
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

/** About how high an item is before it has been shown; one without an item is what stands below them all. */
function estimateHeight(item: ChatItem | undefined): number {
  switch (item?.kind) {
    case "user":
      return 60 + 24 * Math.floor(item.text.length / 75);
    case "agent":
      return item.text === "" ? 0 : 40 + 24 * Math.floor(item.text.length / 85);
    default:
      return 46;
  }
}
