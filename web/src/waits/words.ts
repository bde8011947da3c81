import { isAtLeast } from "@/auth/roles";
import type { Permission, Role, WaitFieldsFragment, WaitKind } from "@/gql/graphql";
import { formatDuration } from "@/ui/format";

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
      return "an answer";
    case "CLIENT_TOOL":
      return `your program to run ${tool}`;
    case "COMPLETION":
      return "a callback";
    case "SIGNAL":
      return "a signal";
    case "CUSTOM":
      return tool;
    case "BUDGET":
      return "more budget";
    case "SUBAGENT":
      return "a subagent";
    case "SLEEP":
      return "its wake-up time";
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How much time is left until a deadline, rounded down: nobody shall believe that there is more than there is. */
export function deadlineWords(deadline: string, now: number): string {
  const left = new Date(deadline).getTime() - now;
  if (left <= 0) return "expired";
  const step = left >= 24 * HOUR ? HOUR : left >= 2 * MINUTE ? MINUTE : 1000;
  return `${formatDuration(Math.max(1000, Math.floor(left / step) * step))} left`;
}

export interface Judge {
  role: Role | null;
  permissions: readonly Permission[];
}

/** Why the viewer may not resolve a wait; the server says that they may not, and this why it seems so. */
export function whyNot(
  wait: Pick<WaitFieldsFragment, "kind" | "requiredRole">,
  { role, permissions }: Judge,
  alone?: boolean,
): string {
  if (wait.kind !== "APPROVAL") return "Your role may read this session and not answer in it.";
  if (!permissions.includes("APPROVALS_DECIDE")) return "Your role may not decide about approvals.";
  const { requiredRole } = wait;
  if (requiredRole && !isAtLeast(role ?? "VIEWER", requiredRole)) {
    return `Only people with the role ${requiredRole.toLowerCase()} or above may approve. You can deny the call.`;
  }
  const yours = "This turn's policy needs someone else to approve, because you wrote in it.";
  if (alone) {
    return `${yours} You are the only member of this organization: invite somebody who can approve it, or deny the call. For later turns you can set allowSelf in the settings of the agent's approvals.`;
  }
  if (alone === undefined) return `${yours} You can deny the call.`;
  const who = requiredRole ? `with the role ${requiredRole.toLowerCase()} or above` : "but viewers";
  return `${yours} All other members ${who} can. You can deny the call.`;
}
