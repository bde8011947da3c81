import { sameJson } from "@/calls/sameJson";
import type { DecideApprovalInput, WaitFieldsFragment } from "@/gql/graphql";

type Decision = WaitFieldsFragment["decisions"][number];

export interface Tally {
  /** How many have approved what is proposed now. */
  approvals: number;
  /** The arguments that the newest approval has put in the place of the call's; undefined for the call's own. */
  proposed: unknown;
}

/** What is sent to decide about an approval: what was proposed last is what is approved, or other arguments in its place. */
export function decisionOf(
  wait: Pick<WaitFieldsFragment, "id" | "decisions">,
  approve: boolean,
  { note = "", own = tallyOf(wait.decisions).proposed }: { note?: string; own?: unknown } = {},
): DecideApprovalInput {
  return {
    waitId: wait.id,
    approve,
    note: note.trim() || null,
    ...(approve && own !== undefined && { arguments: own }),
  };
}

/** Approvals count for the arguments that they were given for: the newest one says which these are. */
export function tallyOf(decisions: readonly Decision[]): Tally {
  const approvals = decisions
    .filter(({ approve }) => approve)
    .toSorted((left, right) => (left.createdAt < right.createdAt ? -1 : 1));
  const proposed = approvals.at(-1)?.arguments ?? null;
  return {
    approvals: approvals.filter((each) => sameJson(each.arguments ?? null, proposed)).length,
    proposed: proposed ?? undefined,
  };
}
