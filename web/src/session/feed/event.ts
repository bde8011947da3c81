import type { EventFieldsFragment } from "@/gql/graphql";
import type { Doer } from "./state";

/** One event of a session, as the dashboard reads it. */
export type SessionEvent = EventFieldsFragment;

/** The events of one GraphQL type, e.g. `EventOf<"ToolStarted">`. */
export type EventOf<Name extends SessionEvent["__typename"]> = Extract<
  SessionEvent,
  { __typename: Name }
>;

// These are never stored. They carry the sequence of the durable event before them, so their sequence says
// nothing about whether they are new.
const EPHEMERAL: ReadonlySet<string> = new Set([
  "OutputDelta",
  "ThinkingDelta",
  "GenerationRetrying",
  "ToolProgress",
  "CaughtUp",
]);

export function isEphemeral(event: SessionEvent): boolean {
  return EPHEMERAL.has(event.__typename);
}

export function position(event: SessionEvent) {
  return { turnId: event.turnId, at: event.occurredAt };
}

/** A text of the payload that the event's type has no field for; null when there is none. */
export function dataText(event: SessionEvent, name: string): string | null {
  const { data } = event;
  if (typeof data !== "object" || data === null || !Object.hasOwn(data, name)) return null;
  const value = (data as Record<string, unknown>)[name];
  return typeof value === "string" ? value : null;
}

export function doerOf(event: SessionEvent): Doer {
  return { kind: dataText(event, "byKind"), id: dataText(event, "byId") };
}

/** Whether a call never ran because people denied it; its error begins with a code. */
export function wasDenied({ toolError }: EventOf<"ToolCompleted">): boolean {
  return toolError?.startsWith("denied: ") ?? false;
}
