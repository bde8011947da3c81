import type { EventKind } from "@/gql/graphql";

interface KindGroup {
  label: string;
  kinds: readonly EventKind[];
}

/** What webhooks can be told of: the kinds of the organization's feed, in docs/events.md. */
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
    ],
  },
  {
    label: "What people and programs are asked for",
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
  TURN_QUEUED: "a turn waits for the one before it",
  TURN_STARTED: "a turn begins",
  TURN_WAITING: "a turn waits for somebody",
  TURN_RESUMED: "a turn goes on",
  TURN_COMPLETED: "a turn has its answer",
  TURN_FAILED: "a turn has failed",
  TURN_CANCELLED: "a turn was cancelled",
  TURN_SEALED: "a turn was stopped on purpose, e.g. at its limit",
  APPROVAL_REQUESTED: "an approval is asked for",
  APPROVAL_DECIDED: "an approval is decided",
  TOOL_CALLS_REQUESTED: "client tools are called",
  SESSION_STARTED: "a session is created",
  SESSION_ACTIVATED: "a session begins to work",
  SESSION_IDLED: "a session is at rest",
  SESSION_WAITING: "a session waits for somebody",
  SESSION_PAUSED: "a session waits, past the soft limit of a budget",
  SESSION_RESUMED: "a session waits no more",
  SESSION_TITLE_CHANGED: "a session has a new title",
  SESSION_MODEL_CHANGED: "a session has another model",
  BUDGET_WARNED: "a fifth of a budget is left",
  BUDGET_PAUSED: "a turn waits, past the soft limit of a budget",
  BUDGET_EXHAUSTED: "a turn is stopped, as a budget is used up",
  BUDGET_RESUMED: "a turn that waited for a budget goes on",
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
