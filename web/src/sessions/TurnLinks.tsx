import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/shell/viewer";

interface TurnLinksProps {
  /** Null for what was done in no session. */
  sessionId: string | null;
  turnId: string | null;
  /** What stands before the links. */
  children?: ReactNode;
}

const LINK = "rounded underline underline-offset-2";

/** Links to a session and to the events of one of its turns, for those who may see them. */
export function TurnLinks({ sessionId, turnId, children }: TurnLinksProps) {
  const maySee = useMay("SESSIONS_READ");
  return (
    <span className="flex flex-wrap gap-x-3 text-xs text-ink-2">
      {children}
      {maySee && sessionId !== null && (
        <Link to="/sessions/$sessionId" params={{ sessionId }} className={LINK}>
          Session
        </Link>
      )}
      {maySee && sessionId !== null && turnId !== null && (
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId }}
          search={{ view: "events", turn: turnId }}
          className={LINK}
        >
          Turn
        </Link>
      )}
    </span>
  );
}
