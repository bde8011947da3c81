import type { OrgLimitsInput, OrgLimitValuesFragment } from "@/gql/graphql";
import { formatBytes, formatCount } from "@/ui/format";

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
    about: "API operations, images and callbacks. Further requests are rejected with a retry time.",
  },
  { name: "activeTurns", label: "Concurrent turns", about: "Further turns wait in the queue." },
  {
    name: "queuedTurns",
    label: "Queued turns",
    about: "Turns that have not started. Further messages are rejected.",
  },
  { name: "sessions", label: "Sessions", about: "No more can be created above this." },
  { name: "agents", label: "Agents", about: "Includes archived agents." },
  {
    name: "subscriptions",
    label: "Subscriptions",
    about: "Open at once. New subscriptions are rejected.",
  },
  { name: "sockets", label: "WebSockets", about: "Open at once. New connections are closed." },
  { name: "apiKeys", label: "API keys", about: "Excludes revoked keys." },
  {
    name: "pendingInvitations",
    label: "Pending invitations",
    about: "Excludes expired invitations.",
  },
  {
    name: "toolCallsPerMinute",
    label: "Outbound tool calls per minute",
    about: "Calls to external services. The agent is told how long to wait.",
  },
  {
    name: "storageBytes",
    label: "Stored bytes",
    about: "Files and images, with duplicates counted once. More are refused.",
  },
];

export const ENVIRONMENT_KEYS = {
  label: "Use the server's provider keys",
  about: "For model providers without their own key. The operator of this server pays for them.",
};

/** How much there is now, by limit; null for more than is counted. */
export type Counts = Readonly<Partial<Record<LimitName, number | null>>>;

/** What was typed, by limit; empty is what the server is configured with. What isn't in it is as it was. */
export type LimitsDraft = Readonly<
  Partial<Record<LimitName, string>> & { environmentKeys?: boolean }
>;

/** The numbers that the API can take at all; whether they are good, the server says. */
const LARGEST = 2 ** 31 - 1;
const LARGEST_BYTES = 2 ** 50;

/** From which share of the limit on storage a warning is shown. */
const NEARLY_FULL = 0.8;

/** What to warn of when the organization's storage is nearly full, or full; null when there is room. */
export function storageWarning(stored: number, limit: number): string | null {
  if (limit === 0 || stored < NEARLY_FULL * limit) return null;
  const used = `${formatBytes(stored)} of ${formatBytes(limit)} are stored.`;
  return stored >= limit
    ? `The storage is full: ${used} No file or image can be stored any more.`
    : `The storage is nearly full: ${used} When it is full, files and images are refused.`;
}

/** What is wrong with what was typed for one limit before it is even sent; null when nothing is. */
export function limitProblem(text: string, name?: LimitName): string | null {
  const typed = text.trim();
  if (typed === "") return null;
  return /^\d+$/.test(typed) && Number(typed) <= (name === "storageBytes" ? LARGEST_BYTES : LARGEST)
    ? null
    : "Enter a whole number, 0 for unlimited, or leave empty for the server default.";
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
    if (limitProblem(typed, name) !== null) return null;
    if (typed === "") input[name] = null;
    else if (Number(typed) !== stored[name]) input[name] = Number(typed);
  }
  const { environmentKeys: keys } = draft;
  if (keys !== undefined && keys !== stored.environmentKeys) input.environmentKeys = keys;
  return Object.keys(input).length === 0 ? null : input;
}

export function limitText(value: number, name?: LimitName): string {
  if (value === 0) return "Unlimited";
  return name === "storageBytes" ? formatBytes(value) : formatCount(value);
}

/** How much of it there is; counting ends at 10 000. Undefined where the viewer may not read it. */
export function countText(count: number | null | undefined): string | null {
  if (count === undefined) return null;
  return count === null ? "more than 10,000" : formatCount(count);
}
