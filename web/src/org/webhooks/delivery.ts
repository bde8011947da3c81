import type { DeliveryRowFragment, WebhookHistoryQuery } from "@/gql/graphql";
import type { Tone } from "@/ui/Badge";

type DeliveryFacts = Pick<
  DeliveryRowFragment,
  "attempts" | "error" | "nextAttemptAt" | "deliveredAt"
>;

interface DeliveryState {
  words: string;
  tone: Tone;
}

/** How a delivery stands. One that was delivered may have been sent again, with another result. */
export function deliveryState(delivery: DeliveryFacts): DeliveryState {
  const { attempts, error, nextAttemptAt, deliveredAt } = delivery;
  if (deliveredAt !== null) {
    if (nextAttemptAt !== null) return { words: "resend scheduled", tone: "accent" };
    return error === null
      ? { words: "delivered", tone: "ok" }
      : { words: "delivered, then failed", tone: "warn" };
  }
  if (nextAttemptAt === null) return { words: "failed", tone: "bad" };
  return attempts === 0
    ? { words: "pending", tone: "accent" }
    : { words: "retrying", tone: "warn" };
}

/** An attempt that is due about now is worth waiting for. */
const SOON_MS = 5000;

export function isDueSoon({ nextAttemptAt }: DeliveryFacts, now: number): boolean {
  return nextAttemptAt !== null && new Date(nextAttemptAt).getTime() <= now + SOON_MS;
}

type HistoryEntry = WebhookHistoryQuery["auditEntries"]["nodes"][number];

interface WhyDisabled {
  words: string;
  at: string;
}

/** Reads off the newest entries of a webhook's history who or what has disabled it; null where they don't tell. */
export function whyDisabled(newestFirst: readonly HistoryEntry[]): WhyDisabled | null {
  for (const { action, actor, details, createdAt } of newestFirst) {
    if (action === "webhook.disabled") {
      const reason = fieldOf(details, "reason");
      if (typeof reason === "string") return { words: `automatically: ${reason}`, at: createdAt };
    }
    const before = fieldOf(fieldOf(details, "before"), "enabled");
    const after = fieldOf(fieldOf(details, "after"), "enabled");
    if (action === "webhook.updated" && before === true && after === false) {
      return { words: `by ${actor.name}`, at: createdAt };
    }
  }
  return null;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
