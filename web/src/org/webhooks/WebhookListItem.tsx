import { ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import { useAction } from "@/api/useAction";
import { TestWebhookDocument, UpdateWebhookDocument, type WebhookRowFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Problems } from "@/ui/Problems";
import { RelativeTime } from "@/ui/Time";
import { Deliveries } from "./Deliveries";
import { DisabledNote } from "./DisabledNote";
import { kindWords } from "./kinds";

/** What opens a dialog. */
export type WebhookAct = "edit" | "rotate" | "delete";

interface WebhookListItemProps {
  webhook: WebhookRowFragment;
  /** Whether its deliveries are shown. */
  open: boolean;
  onOpen: (open: boolean) => void;
  onAct: (what: WebhookAct) => void;
}

export function WebhookListItem({ webhook, open, onOpen, onAct }: WebhookListItemProps) {
  const { id, url, kinds, enabled, createdAt } = webhook;
  const update = useAction(UpdateWebhookDocument);
  const test = useAction(TestWebhookDocument);
  const [tests, setTests] = useState(0);
  const region = useId();
  return (
    <li data-webhook={url} className="border-b border-line px-4 py-3 text-sm sm:px-6">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-48 flex-1">
          <div className="flex min-w-0 flex-wrap items-center gap-x-2">
            <span className={classes("font-medium wrap-anywhere", !enabled && "text-ink-2")}>
              {url}
            </span>
            {!enabled && <Badge tone="warn">disabled</Badge>}
          </div>
          <p className="text-xs text-ink-3">
            created <RelativeTime time={createdAt} />
          </p>
          <ul className="mt-1 flex flex-wrap gap-1" aria-label={`Events of ${url}`}>
            {kinds.map((each) => (
              <li key={each}>
                <Badge title={kindWords(each)}>{each}</Badge>
              </li>
            ))}
          </ul>
        </div>
        <div className="-mx-1 flex flex-wrap gap-1">
          {enabled && (
            <Button
              look="ghost"
              disabled={test.busy}
              onClick={async () => {
                if (!(await test.run({ id }))) return;
                setTests(tests + 1);
                onOpen(true);
              }}
            >
              Send test
            </Button>
          )}
          <Button
            look="ghost"
            disabled={update.busy}
            onClick={() => void update.run({ id, input: { enabled: !enabled } })}
          >
            {enabled ? "Disable" : "Enable"}
          </Button>
          <Button look="ghost" onClick={() => onAct("edit")}>
            Edit
          </Button>
          <Button look="ghost" onClick={() => onAct("rotate")}>
            Rotate secret
          </Button>
          <Button look="ghost" onClick={() => onAct("delete")}>
            Delete
          </Button>
        </div>
      </div>
      <div className="mt-2 space-y-2 empty:hidden">
        <Problems of={update} />
        <Problems of={test} />
      </div>
      {!enabled && <DisabledNote id={id} />}
      <Button
        look="ghost"
        className="mt-1 -ml-3"
        aria-expanded={open}
        aria-controls={open ? region : undefined}
        onClick={() => onOpen(!open)}
      >
        <ChevronRight
          size={14}
          aria-hidden
          className={classes("transition-transform", open && "rotate-90")}
        />
        Deliveries
      </Button>
      {open && (
        <section id={region} aria-label={`Deliveries to ${url}`}>
          {/* Each test is read with a list of its own. */}
          <Deliveries key={tests} webhookId={id} enabled={enabled} />
        </section>
      )}
    </li>
  );
}
