import type { OrgLimitsInput, OrgLimitValuesFragment } from "@/gql/graphql";

/** The limits that are numbers. */
export type LimitName = Exclude<keyof OrgLimitsInput, "environmentKeys">;

interface LimitWords {
  name: LimitName;
  label: string;
  /** What is counted, and what happens to one too many. */
  about: string;
}

export const LIMITS: readonly LimitWords[] = [
  {
    name: "requestsPerMinute",
    label: "Requests per minute",
    about: "Operations, images and callbacks. More are refused, and told how long to wait.",
  },
  { name: "activeTurns", label: "Turns at work", about: "At the same time. More wait." },
  {
    name: "queuedTurns",
    label: "Turns that wait",
    about: "Those that have not begun. A message that would make one more is refused.",
  },
  { name: "sessions", label: "Sessions", about: "Beyond that none is started." },
  { name: "agents", label: "Agents", about: "Archived ones count. Beyond that none is created." },
  {
    name: "subscriptions",
    label: "Subscriptions",
    about: "Open at the same time. One more is refused.",
  },
  { name: "sockets", label: "WebSockets", about: "Open at the same time. One more is closed." },
  { name: "apiKeys", label: "API keys", about: "Without those that were revoked." },
  {
    name: "pendingInvitations",
    label: "Pending invitations",
    about: "Without those that have expired.",
  },
  {
    name: "toolCallsPerMinute",
    label: "Outbound tool calls per minute",
    about: "Of tools that reach out of the server. The agent is told how long to wait.",
  },
];

export const ENVIRONMENT_KEYS = {
  label: "Use the server's provider keys",
  about:
    "For model providers without a key of their own. The operator of the server pays for them.",
};

/** What was typed, by limit; empty is what the server is configured with. What isn't in it is as it was. */
export type LimitsDraft = Readonly<
  Partial<Record<LimitName, string>> & { environmentKeys?: boolean }
>;

/** The numbers that the API can take at all; whether they are good, the server says. */
const LARGEST = 2 ** 31 - 1;

/** What is wrong with what was typed for one limit before it is even sent; null when nothing is. */
export function limitProblem(text: string): string | null {
  const typed = text.trim();
  if (typed === "") return null;
  return /^-?\d+$/.test(typed) && Math.abs(Number(typed)) <= LARGEST
    ? null
    : "Give a whole number: 0 for any number, or nothing for the server's default.";
}

/** Only what differs from what is stored; null when nothing does, or when something can't be sent. */
export function limitsInput(
  draft: LimitsDraft,
  stored: OrgLimitValuesFragment,
): OrgLimitsInput | null {
  const input: OrgLimitsInput = {};
  for (const { name } of LIMITS) {
    const typed = draft[name]?.trim();
    if (typed === undefined) continue;
    if (limitProblem(typed) !== null) return null;
    if (typed === "") input[name] = null;
    else if (Number(typed) !== stored[name]) input[name] = Number(typed);
  }
  const { environmentKeys: keys } = draft;
  if (keys !== undefined && keys !== stored.environmentKeys) input.environmentKeys = keys;
  return Object.keys(input).length === 0 ? null : input;
}

const numbers = new Intl.NumberFormat();

export function limitText(value: number): string {
  return value === 0 ? "any number" : numbers.format(value);
}

/** How much of it there is; counting ends at 10 000. Undefined where the viewer may not read it. */
export function countText(count: number | null | undefined): string | null {
  if (count === undefined) return null;
  return count === null ? "more than 10,000 now" : `${numbers.format(count)} now`;
}
