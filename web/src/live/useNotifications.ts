import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { client } from "@/api/client";
import { WaitNewsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { newsOf, notice } from "./news";
import { notifiesNow, notify } from "./notify";
import type { OrgEvent } from "./orgState";

/** Tells the viewer what begins to wait for them while they look at something else. */
export function useNotifications(): (event: OrgEvent) => void {
  const navigate = useNavigate();
  const mayResume = useMay("BUDGETS_MANAGE");
  return useCallback(
    (event: OrgEvent) => {
      if (!notifiesNow()) return;
      for (const id of newsOf(event)) {
        void client
          .query(WaitNewsDocument, { id }, { requestPolicy: "network-only" })
          .then(({ data }) => {
            const told = data?.node && notice(data.node, mayResume);
            if (!told) return;
            const { title, body, sessionId } = told;
            notify(
              id,
              title,
              body,
              () => void navigate({ to: "/sessions/$sessionId", params: { sessionId } }),
            );
          });
      }
    },
    [navigate, mayResume],
  );
}
