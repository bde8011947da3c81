import { Link } from "@tanstack/react-router";
import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { DeliveryPayloadDocument, type DeliveryRowFragment } from "@/gql/graphql";
import { ErrorNote } from "@/ui/ErrorNote";
import { JsonBlock } from "@/ui/JsonBlock";
import { Spinner } from "@/ui/Loading";

interface DeliveryDetailsProps {
  webhookId: string;
  delivery: DeliveryRowFragment;
}

/** What was sent, and what was answered last. */
export function DeliveryDetails({ webhookId, delivery }: DeliveryDetailsProps) {
  const { id, eventId, sessionId, response } = delivery;
  const [{ data, error }] = useQuery({
    query: DeliveryPayloadDocument,
    variables: { webhook: webhookId, id },
  });
  const node = data?.node;
  const payload = node?.__typename === "Webhook" ? node.delivery?.payload : undefined;
  return (
    <div className="w-full space-y-2 text-xs">
      <p className="wrap-anywhere text-ink-3">
        Event <span className="font-mono">{eventId}</span>
        {sessionId !== null && (
          <>
            {" · "}
            <Link to="/sessions/$sessionId" params={{ sessionId }} className="underline">
              Open session
            </Link>
          </>
        )}
      </p>
      <section aria-label="Request body">
        <h4 className="mb-1 font-medium">Request</h4>
        {error ? (
          <ErrorNote>{describeError(error)}</ErrorNote>
        ) : payload === undefined ? (
          <Spinner />
        ) : (
          <JsonBlock value={payload} />
        )}
      </section>
      <section aria-label="Response body">
        <h4 className="mb-1 font-medium">Response</h4>
        {response ? (
          <JsonBlock value={response} />
        ) : (
          <p className="text-ink-3">{response === "" ? "Empty." : "No response."}</p>
        )}
      </section>
    </div>
  );
}
