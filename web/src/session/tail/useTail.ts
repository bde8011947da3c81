import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Echoes } from "@/ui/echoes";
import type { Feed } from "../feed/useSessionFeed";
import { followsAfter } from "./follows";

interface Tail {
  feed: Feed;
  /** What tells the rows apart, oldest first. */
  keys: readonly string[];
  /** The height of a row that has not been shown yet, in pixels. */
  estimateSize: (index: number) => number;
  /** The rows may be anywhere in the past, so all of it is read. */
  whole?: boolean;
}

/**
 * A long list that is read from its end. Only the rows in sight are in the page. The end stays in sight while it grows,
 * until the reader moves up; the past is read page by page when its beginning comes near, and what is in sight stays where it is.
 */
export function useTail({ feed, keys, estimateSize, whole = false }: Tail) {
  const { earlier, loadEarlier, connection } = feed;
  const scroller = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const followingNow = useRef(true);
  const [below, setBelow] = useState(false);
  const list = useVirtualizer({
    count: keys.length,
    getScrollElement: () => scroller.current,
    estimateSize,
    getItemKey: (index) => keys[index] ?? index,
    overscan: 8,
    anchorTo: "end",
    scrollEndThreshold: 2,
  });

  const settle = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    if (followingNow.current) element.scrollTop = element.scrollHeight;
    setBelow(element.scrollHeight - element.clientHeight - element.scrollTop > 1);
    if (earlier !== null && element.scrollTop < element.clientHeight) void loadEarlier();
  }, [earlier, loadEarlier]);
  const follow = useCallback((next: boolean) => {
    followingNow.current = next;
    setFollowing(next);
  }, []);
  useLayoutEffect(settle);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    let top = element.scrollTop;
    let touchedAt = 0;
    let resizedAt = 0;
    let height = element.scrollHeight;
    const onTouch = () => {
      touchedAt = performance.now();
    };
    const onScroll = () => {
      const now = performance.now();
      if (element.scrollHeight !== height) resizedAt = now;
      height = element.scrollHeight;
      const next = followsAfter({
        following: followingNow.current,
        distance: height - element.clientHeight - element.scrollTop,
        movedUp: element.scrollTop < top - 1,
        sinceTouch: now - touchedAt,
        sinceResize: now - resizedAt,
      });
      top = element.scrollTop;
      if (next !== followingNow.current) follow(next);
      settle();
    };
    const observer = new ResizeObserver(() => {
      resizedAt = performance.now();
      settle();
    });
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    // Before the list hears of it: what it renders then is settled by whether the end is followed.
    element.addEventListener("scroll", onScroll, { passive: true, capture: true });
    for (const kind of TOUCHES) element.addEventListener(kind, onTouch, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll, { capture: true });
      for (const kind of TOUCHES) element.removeEventListener(kind, onTouch);
    };
  }, [follow, settle]);

  // A page that could not be read is asked for again with the connection.
  const live = connection.status === "live";
  useEffect(() => {
    if (whole && live && earlier !== null) void loadEarlier(true);
  }, [whole, live, earlier, loadEarlier]);

  const jump = useCallback(() => {
    follow(true);
    settle();
  }, [follow, settle]);
  /** The reader has left the end, and there is something below. */
  const away = !following && below;
  return { scroller, list, away, follow, jump };
}

/**
 * Leads to what the address names, once that has been read. Returns what says where the reader has gone by themselves: the
 * address names it a moment later, and then nothing moves.
 */
export function useLink(
  target: string | undefined,
  found: number,
  {
    follow,
    list,
  }: Pick<ReturnType<typeof useTail>, "follow"> & {
    list: { scrollToIndex: (index: number, options: { align: "center" }) => void };
  },
): (id: string) => void {
  const named = useRef<string>(undefined);
  const due = useRef<string>(undefined);
  const [own] = useState(() => new Echoes());
  useEffect(() => {
    if (target !== named.current) {
      named.current = target;
      due.current = target === undefined || own.isEcho(target) ? undefined : target;
    }
    if (due.current === undefined || found < 0) return;
    due.current = undefined;
    follow(false);
    list.scrollToIndex(found, { align: "center" });
  }, [target, found, follow, list, own]);
  return useCallback(
    (id) => {
      due.current = undefined;
      own.sent(id);
    },
    [own],
  );
}

const TOUCHES = ["wheel", "touchmove", "pointerdown", "keydown"] as const;
