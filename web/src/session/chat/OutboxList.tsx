import { Button } from "@/ui/Button";
import type { Outbox, OutboxEntry } from "./outbox";
import { UserMessage } from "./UserMessage";

interface OutboxListProps {
  entries: readonly OutboxEntry[];
  outbox: Outbox;
}

/** Messages that the session does not hold yet. */
export function OutboxList({ entries, outbox }: OutboxListProps) {
  return entries.map((entry) => (
    <div key={entry.key} className={entry.state === "refused" ? undefined : "opacity-70"}>
      <UserMessage text={entry.text} images={entry.images}>
        {entry.state === "stalled" && (
          <Line tone="text-ink-2" text="Not sent yet. It will be sent when the connection is back.">
            <Button look="ghost" onClick={() => outbox.retry()}>
              Send now
            </Button>
          </Line>
        )}
        {entry.state === "refused" && (
          <Line tone="text-bad" text={entry.problem ?? "The message couldn't be sent."}>
            <Button look="ghost" onClick={() => outbox.discard(entry.key)}>
              Discard
            </Button>
          </Line>
        )}
      </UserMessage>
    </div>
  ));
}

interface LineProps {
  tone: string;
  text: string;
  children: React.ReactNode;
}

function Line({ tone, text, children }: LineProps) {
  return (
    <div role="status" className={`mt-1 flex items-center gap-1 text-xs ${tone}`}>
      {text}
      {children}
    </div>
  );
}
