import { useQuery } from "urql";
import { WebhookHistoryDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { RelativeTime } from "@/ui/Time";
import { whyDisabled } from "./delivery";

/** Says who or what has disabled a webhook, to who may read the audit log, and how it goes on. */
export function DisabledNote({ id }: { id: string }) {
  const mayRead = useMay("AUDIT_READ");
  const [{ data }] = useQuery({
    query: WebhookHistoryDocument,
    variables: { id },
    requestPolicy: "network-only",
    pause: !mayRead,
  });
  const why = data ? whyDisabled(data.auditEntries.nodes) : null;
  return (
    <p className="mt-2 rounded-md border border-warn/25 bg-warn-soft px-3 py-2 text-sm text-warn">
      {why ? (
        <>
          Disabled <RelativeTime time={why.at} /> {why.words}.{" "}
        </>
      ) : (
        "Disabled. "
      )}
      After you enable it, it receives new events and pending deliveries.
    </p>
  );
}
