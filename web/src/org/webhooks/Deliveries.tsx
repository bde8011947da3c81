import { useEffect, useState } from "react";
import { useAction } from "@/api/useAction";
import { usePages } from "@/api/usePages";
import {
  type DeliveryRowFragment,
  ReplayDeliveryDocument,
  WebhookDeliveriesDocument,
  type WebhookDeliveriesQuery,
} from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { formatDateTime, formatDuration } from "@/ui/format";
import { ListBody } from "@/ui/ListBody";
import { Problems } from "@/ui/Problems";
import { RelativeTime } from "@/ui/Time";
import { DeliveryDetails } from "./DeliveryDetails";
import { deliveryState, isDueSoon } from "./delivery";

interface DeliveriesProps {
  webhookId: string;
  /** One that is disabled sends nothing again. */
  enabled: boolean;
}

/** How often to look what became of an attempt that is due. */
const LOOK_AGAIN_MS = 2000;

/** What a webhook was told, newest first. */
export function Deliveries({ webhookId, enabled }: DeliveriesProps) {
  const pages = usePages(WebhookDeliveriesDocument, { id: webhookId, first: 20 }, connectionOf);
  const { nodes, reload } = pages;
  const waiting = enabled && nodes.some((each) => isDueSoon(each, Date.now()));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer makes another function to ask with.
  useEffect(() => {
    if (!waiting) return;
    const timer = setInterval(reload, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [waiting]);

  return (
    <div className="mb-1 space-y-2">
      <ListBody
        list={pages}
        skeletons={3}
        empty={
          <p className="text-sm text-ink-2">
            No deliveries in the last 30 days. {enabled && "The next matching event appears here."}
          </p>
        }
      >
        <ol aria-label="Deliveries" className="card divide-y divide-line overflow-hidden">
          {nodes.map((each) => (
            <DeliveryItem
              key={each.id}
              webhookId={webhookId}
              delivery={each}
              enabled={enabled}
              onReplayed={reload}
            />
          ))}
        </ol>
      </ListBody>
      <div className="flex justify-end">
        <Button look="ghost" onClick={reload}>
          Refresh
        </Button>
      </div>
    </div>
  );
}

interface DeliveryItemProps {
  webhookId: string;
  delivery: DeliveryRowFragment;
  enabled: boolean;
  onReplayed: () => void;
}

function DeliveryItem({ webhookId, delivery, enabled, onReplayed }: DeliveryItemProps) {
  const { id, eventId, kind, attempts, status, error, durationMs, nextAttemptAt, deliveredAt } =
    delivery;
  const replay = useAction(ReplayDeliveryDocument);
  const [open, setOpen] = useState(false);
  const { words, tone } = deliveryState(delivery);
  return (
    <li data-delivery={id} className="flex flex-wrap items-start gap-x-4 gap-y-1 px-3 py-2">
      <div className="min-w-48 flex-1 space-y-0.5">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          <Badge tone={tone}>{words}</Badge>
          {status !== null && <span className="tabular-nums">HTTP {status}</span>}
          <span className="font-mono text-2xs">{kind ?? "TEST"}</span>
        </p>
        {error !== null && <p className="wrap-anywhere text-bad">{error}</p>}
        <p className="text-xs text-ink-3">
          {attempts === 1 ? "1 attempt" : `${attempts} attempts`}
          {durationMs !== null && status !== null && ` · answered in ${formatDuration(durationMs)}`}
          {deliveredAt !== null && (
            <>
              {" "}
              · delivered <RelativeTime time={deliveredAt} />
            </>
          )}
          {nextAttemptAt !== null &&
            (enabled
              ? ` · next attempt ${formatDateTime(nextAttemptAt)}`
              : " · waiting for the webhook to be enabled")}
        </p>
        <Problems of={replay} />
      </div>
      <Button
        look="ghost"
        aria-expanded={open}
        aria-label={`Details of ${eventId}`}
        onClick={() => setOpen(!open)}
      >
        Details
      </Button>
      {enabled && (
        <Button
          look="ghost"
          disabled={replay.busy}
          aria-label={`Send again ${eventId}`}
          onClick={async () => {
            if (await replay.run({ id })) onReplayed();
          }}
        >
          Send again
        </Button>
      )}
      {open && <DeliveryDetails webhookId={webhookId} delivery={delivery} />}
    </li>
  );
}

/** A webhook that somebody has deleted meanwhile has none. */
function connectionOf({ node }: WebhookDeliveriesQuery) {
  return node?.__typename === "Webhook" ? node.deliveries : null;
}
