import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

const NEAR_PX = 64;

interface Follow {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  following: boolean;
  jump: () => void;
}

/** Keeps the end in sight while it grows, until the reader scrolls up; scrolling back down resumes. */
export function useFollow(): Follow {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const followingNow = useRef(true);

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);

  useEffect(() => {
    const element = scroller.current;
    const inner = content.current;
    if (!element || !inner) return;
    let lastTop = element.scrollTop;
    const onScroll = () => {
      const distance = element.scrollHeight - element.clientHeight - element.scrollTop;
      // Growth moves the end away but not the reader; only a move upwards means that they left.
      const next = distance < NEAR_PX || (followingNow.current && element.scrollTop >= lastTop);
      lastTop = element.scrollTop;
      if (next === followingNow.current) return;
      followingNow.current = next;
      setFollowing(next);
    };
    const observer = new ResizeObserver(() => {
      if (followingNow.current) toEnd();
    });
    observer.observe(inner);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    toEnd();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [toEnd]);

  const jump = useCallback(() => {
    followingNow.current = true;
    setFollowing(true);
    toEnd();
  }, [toEnd]);

  return { scroller, content, following, jump };
}
