import { useEffect, useMemo, useRef, useState } from "react";
import type { Connection } from "@/api/connection";
import { startedSince } from "@/live/orgState";
import { useOrgFeed } from "@/live/useOrgFeed";
import { useReadSessions } from "@/live/useReadSessions";
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
/** How many of the new sessions are looked at to know whether one of them is listed. */
const MOST_READ = 5;

/**
 * Keeps the rows of a list of sessions up to date. New sessions bring the first page in anew; once the reader has
 * gone on to later pages, that is left to them.
 */
export function useLiveSessions(
  sessions: { nodes: readonly SessionRead[]; reload: () => void },
  pageSize: number,
): LiveSessions {
  const { feed, snapshot } = useOrgFeed();
  const { org, connection, beginnings } = snapshot;
  const { nodes } = sessions;
  const reload = useRef(sessions.reload);
  reload.current = sessions.reload;

  // The list was read before the stream began: what lies between is read again, and so are new sessions.
  const { started } = org;
  const [seen, setSeen] = useState({ started: 0, beginnings: 0 });
  const current = seen.started === started && seen.beginnings === beginnings;
  const firstPageOnly = nodes.length <= pageSize;
  useEffect(() => {
    if (current || !firstPageOnly) return;
    const timer = setTimeout(() => {
      setSeen({ started, beginnings });
      reload.current();
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [started, beginnings, current, firstPageOnly]);

  // A trial is in no list, so that nobody has to read the list again for it.
  const news = firstPageOnly ? [] : startedSince(org, seen.started);
  const outdated =
    !firstPageOnly && (seen.beginnings !== beginnings || news.some(({ read }) => read));
  useReadSessions(feed, outdated ? [] : news.slice(-MOST_READ));

  return {
    nodes: useMemo(() => liveRows(nodes, org), [nodes, org]),
    connection,
    outdated,
    refresh: () => {
      setSeen({ started, beginnings });
      sessions.reload();
    },
  };
}
