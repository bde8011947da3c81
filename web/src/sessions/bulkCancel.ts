/** What came of cancelling one session's active turn. */
export type CancelOutcome = "cancelled" | "at-rest" | { problem: string };

export interface BulkResult {
  cancelled: number;
  /** There was nothing to cancel, or it ended by itself first. */
  atRest: number;
  problems: readonly string[];
}

/** So many are under way at once: each is two requests. */
const AT_ONCE = 4;

/** Cancels one session after another, and goes on whatever becomes of each. */
export async function bulkCancel(
  ids: readonly string[],
  cancel: (id: string) => Promise<CancelOutcome>,
): Promise<BulkResult> {
  const left = [...ids];
  const outcomes: CancelOutcome[] = [];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      outcomes.push(await cancel(id));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return {
    cancelled: outcomes.filter((each) => each === "cancelled").length,
    atRest: outcomes.filter((each) => each === "at-rest").length,
    problems: outcomes.flatMap((each) => (typeof each === "object" ? [each.problem] : [])),
  };
}

export function bulkWords({ cancelled, atRest, problems }: BulkResult): string {
  const parts = [
    cancelled === 1 ? "Cancelling 1 turn" : `Cancelling ${cancelled} turns`,
    atRest === 0 ? "" : `${atRest} ${atRest === 1 ? "session was" : "sessions were"} idle`,
    problems.length === 0 ? "" : `${problems.length} failed: ${[...new Set(problems)].join(" ")}`,
  ];
  const words = parts.filter((part) => part !== "").join("; ");
  return words.endsWith(".") ? words : `${words}.`;
}
