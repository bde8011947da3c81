import { isAtLeast } from "@/auth/roles";
import type { Permission, Role, WaitFieldsFragment, WaitKind } from "@/gql/graphql";

export const KIND_LABELS: Record<WaitKind, string> = {
  APPROVAL: "Approval",
  QUESTION: "Question",
  CLIENT_TOOL: "Client tool",
  COMPLETION: "Callback",
  SIGNAL: "Signal",
  CUSTOM: "Tool",
  BUDGET: "Budget",
  SUBAGENT: "Subagent",
  SLEEP: "Sleep",
};

/** What a turn waits for, as the end of "Waiting for …". */
export function waitingFor(wait: { kind: WaitKind; toolName: string | null }): string {
  const tool = wait.toolName ?? "a tool";
  switch (wait.kind) {
    case "APPROVAL":
      return `approval of ${tool}`;
    case "QUESTION":
      return "an answer of the user";
    case "CLIENT_TOOL":
      return `your program to run ${tool}`;
    case "COMPLETION":
      return "a callback from outside";
    case "SIGNAL":
      return "a signal";
    case "CUSTOM":
      return `what ${tool} waits for`;
    case "BUDGET":
      return "more budget";
    case "SUBAGENT":
      return "a subagent";
    case "SLEEP":
      return "its time";
  }
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How much time is left until a deadline, in words. */
export function deadlineWords(deadline: string, now: number): string {
  const left = new Date(deadline).getTime() - now;
  if (left <= 0) return "the time is over";
  for (const [unit, name] of [
    [DAY, "days"],
    [HOUR, "hours"],
    [MINUTE, "minutes"],
  ] as const) {
    // Rounded down: nobody shall believe that there is more time than there is.
    if (left >= 2 * unit) return `${Math.floor(left / unit)} ${name} left`;
  }
  const seconds = Math.ceil(left / SECOND);
  return seconds === 1 ? "1 second left" : `${seconds} seconds left`;
}

export interface Judge {
  role: Role | null;
  permissions: readonly Permission[];
}

/** Why the viewer may not resolve a wait; the server says that they may not, and this why it seems so. */
export function whyNot(
  wait: Pick<WaitFieldsFragment, "kind" | "requiredRole">,
  { role, permissions }: Judge,
): string {
  if (wait.kind !== "APPROVAL") return "Your role may read this session and not answer in it.";
  if (!permissions.includes("APPROVALS_DECIDE")) return "Your role may not decide about approvals.";
  const { requiredRole } = wait;
  if (requiredRole && !isAtLeast(role ?? "VIEWER", requiredRole)) {
    return `Only people with the role ${requiredRole.toLowerCase()} or above may decide.`;
  }
  return "You wrote a message of this turn, and its policy wants somebody else to decide.";
}
