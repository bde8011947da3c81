import type { SessionEventsSubscription } from "@/gql/graphql";

/** One event of a session, as the dashboard subscribes to it. */
export type SessionEvent = SessionEventsSubscription["sessionEvents"];

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
