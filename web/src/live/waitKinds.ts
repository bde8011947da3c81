import type { EventKind } from "@/gql/graphql";

/** The kinds of events after which something waits that did not before, or waits no more. */
export const WAIT_KINDS: EventKind[] = [
  "APPROVAL_REQUESTED",
  "APPROVAL_DECIDED",
  "TOOL_CALLS_REQUESTED",
  "TURN_WAITING",
  "TURN_RESUMED",
  "TURN_COMPLETED",
  "TURN_FAILED",
  "TURN_CANCELLED",
  "TURN_SEALED",
];
