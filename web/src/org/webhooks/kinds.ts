import type { EventKind } from "@/gql/graphql";

interface KindGroup {
  label: string;
  kinds: readonly EventKind[];
}

/** The events that webhooks can receive: the kinds of the organization's feed, in docs/events.md. */
export const KIND_GROUPS: readonly KindGroup[] = [
  {
    label: "Turns",
    kinds: [
      "TURN_QUEUED",
      "TURN_STARTED",
      "TURN_WAITING",
      "TURN_RESUMED",
      "TURN_COMPLETED",
      "TURN_FAILED",
      "TURN_CANCELLED",
      "TURN_SEALED",
      "TURN_RATED",
    ],
  },
  {
    label: "Approvals and client tools",
    kinds: ["APPROVAL_REQUESTED", "APPROVAL_DECIDED", "TOOL_CALLS_REQUESTED"],
  },
  {
    label: "Sessions",
    kinds: [
      "SESSION_STARTED",
      "SESSION_ACTIVATED",
      "SESSION_IDLED",
      "SESSION_WAITING",
      "SESSION_PAUSED",
      "SESSION_RESUMED",
      "SESSION_TITLE_CHANGED",
      "SESSION_MODEL_CHANGED",
    ],
  },
  {
    label: "Budgets",
    kinds: ["BUDGET_WARNED", "BUDGET_PAUSED", "BUDGET_EXHAUSTED", "BUDGET_RESUMED"],
  },
];

const WORDS: Readonly<Partial<Record<EventKind, string>>> = {
  TURN_QUEUED: "Turn queued",
  TURN_STARTED: "Turn started",
  TURN_WAITING: "Turn waiting for someone",
  TURN_RESUMED: "Turn resumed",
  TURN_COMPLETED: "Turn completed",
  TURN_FAILED: "Turn failed",
  TURN_CANCELLED: "Turn cancelled",
  TURN_SEALED: "Turn stopped, for example at a limit",
  TURN_RATED: "Answer rated",
  APPROVAL_REQUESTED: "Approval requested",
  APPROVAL_DECIDED: "Approval decided",
  TOOL_CALLS_REQUESTED: "Client tool called",
  SESSION_STARTED: "Session created",
  SESSION_ACTIVATED: "Session started working",
  SESSION_IDLED: "Session idle",
  SESSION_WAITING: "Session waiting for someone",
  SESSION_PAUSED: "Session paused by a soft limit",
  SESSION_RESUMED: "Session resumed",
  SESSION_TITLE_CHANGED: "Session title changed",
  SESSION_MODEL_CHANGED: "Session model changed",
  BUDGET_WARNED: "20% of a budget left",
  BUDGET_PAUSED: "Turn paused by a soft limit",
  BUDGET_EXHAUSTED: "Turn stopped by a budget",
  BUDGET_RESUMED: "Turn resumed after waiting for a budget",
};

export function kindWords(kind: EventKind): string {
  return WORDS[kind] ?? "";
}

/** The groups to choose from. What was chosen before and isn't known here can be seen, kept and taken away. */
export function kindGroups(chosen: readonly EventKind[]): readonly KindGroup[] {
  const known = KIND_GROUPS.flatMap(({ kinds }) => kinds);
  const others = chosen.filter((each) => !known.includes(each));
  return others.length === 0 ? KIND_GROUPS : [...KIND_GROUPS, { label: "Others", kinds: others }];
}
