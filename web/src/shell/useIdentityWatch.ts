import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "urql";
import { onDoubt } from "@/api/doubt";
import { describeError } from "@/api/errors";
import { onIdentityAnnounced, sameIdentity } from "@/auth/identity";
import { ViewerDocument } from "@/gql/graphql";
import type { Viewer } from "./viewer";

interface IdentityWatch {
  /** Whom and which organization this page was opened for. */
  began: Viewer | null;
  /** Another tab has changed something, and what it was is not known yet: nothing may be shown. */
  unsure: boolean;
  /** Why it can't be found out. */
  problem: string | null;
  /** Looks again. */
  check: () => void;
}

/**
 * Reads the viewer again when there is a doubt about them: when another tab says that the cookies changed, when a stream
 * or a request is refused, and when the reader comes back to the window.
 */
export function useIdentityWatch(viewer: Viewer | null): IdentityWatch {
  const client = useClient();
  const [began, setBegan] = useState(viewer);
  const [unsure, setUnsure] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  if (began === null && viewer !== null) setBegan(viewer);

  const check = useCallback(() => {
    void client
      .query(ViewerDocument, {}, { requestPolicy: "network-only" })
      .toPromise()
      .then(({ data, error }) => {
        setProblem(error ? describeError(error) : null);
        if (data) setUnsure(false);
      });
  }, [client]);

  useEffect(() => {
    const onFocus = () => {
      if (document.visibilityState === "visible") check();
    };
    const stopDoubting = onDoubt(check);
    const stopListening = onIdentityAnnounced(() => {
      setUnsure(true);
      check();
    });
    window.addEventListener("focus", onFocus);
    document.addEventListener("visibilitychange", onFocus);
    return () => {
      stopDoubting();
      stopListening();
      window.removeEventListener("focus", onFocus);
      document.removeEventListener("visibilitychange", onFocus);
    };
  }, [check]);

  // Who comes back to where they began finds what was read meanwhile for another organization: away with it.
  const strayed = useRef(false);
  useEffect(() => {
    if (!began || !viewer) return;
    if (!sameIdentity(began, viewer)) strayed.current = true;
    else if (strayed.current) location.reload();
  }, [began, viewer]);

  return { began, unsure, problem, check };
}
