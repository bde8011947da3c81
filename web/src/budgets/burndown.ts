import type { LedgerRowFragment } from "@/gql/graphql";
import { addDecimals } from "@/money/decimal";

type Posting = Pick<LedgerRowFragment, "amount" | "createdAt">;

/** What was left of a budget from this time on. */
export interface Level {
  at: number;
  balance: string;
}

/**
 * What was left of a budget in the course of time, oldest first: from what is left now, walked back over the newest
 * postings, so that it is exact for as long as they reach. A debit is positive: before it there was more.
 */
export function levelsOf(balance: string, newestFirst: readonly Posting[], since: Date): Level[] {
  const levels: Level[] = [];
  let left = balance;
  let oldest: number | null = null;
  for (const { amount, createdAt } of newestFirst) {
    const at = Date.parse(createdAt);
    if (at < since.getTime()) break;
    // Of postings of one moment, the last one tells what was left after it.
    if (levels.at(-1)?.at !== at) levels.push({ at, balance: left });
    left = addDecimals(left, amount);
    oldest = at;
  }
  if (oldest !== null && oldest > since.getTime()) {
    levels.push({ at: since.getTime(), balance: left });
  }
  return levels.reverse();
}

/** The same for those postings alone that are here, where the period has older ones: nothing is known before them. */
export function knownSince(newestFirst: readonly Posting[], since: Date, complete: boolean): Date {
  const oldest = newestFirst.at(-1);
  if (complete || oldest === undefined) return since;
  return new Date(Math.max(since.getTime(), Date.parse(oldest.createdAt)));
}
