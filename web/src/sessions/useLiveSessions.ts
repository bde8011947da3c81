import { useEffect, useMemo, useRef, useState } from "react";
import type { Connection } from "@/api/connection";
import { useOrgFeed } from "@/live/useOrgFeed";
import { liveRows, type SessionListRow, type SessionRead } from "./liveRows";

interface LiveSessions {
  nodes: readonly SessionListRow[];
  connection: Connection;
  /** There are new sessions, and the list was not read again so that nobody loses their place in it. */
  outdated: boolean;
  /** Reads the list again. */
  refresh: () => void;
}

const SETTLE_MS = 300;

/**
 * Keeps the rows of a list of sessions up to date. New sessions bring the first page in anew; once the reader has
 * gone on to later pages, that is left to them.
 */
export function useLiveSessions(
  sessions: { nodes: readonly SessionRead[]; reload: () => void },
  pageSize: number,
): LiveSessions {
  const { snapshot } = useOrgFeed();
  const { org, connection, beginnings } = snapshot;
  const { nodes } = sessions;
  const reload = useRef(sessions.reload);
  reload.current = sessions.reload;

  // The list was read before the stream began: what lies between is read again, and so are new sessions.
  const version = org.started + beginnings;
  const [seen, setSeen] = useState(0);
  const firstPageOnly = nodes.length <= pageSize;
  useEffect(() => {
    if (seen === version || !firstPageOnly) return;
    const timer = setTimeout(() => {
      setSeen(version);
      reload.current();
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [version, seen, firstPageOnly]);

  return {
    nodes: useMemo(() => liveRows(nodes, org), [nodes, org]),
    connection,
    outdated: !firstPageOnly && seen !== version,
    refresh: () => {
      setSeen(version);
      sessions.reload();
    },
  };
}
