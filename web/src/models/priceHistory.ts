import type { PriceFieldsFragment } from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";

interface Version {
  validFrom: string;
  price: PriceFieldsFragment | null;
}

/** The columns of the table. */
export const PRICE_KINDS = [
  ["input", "Input"],
  ["output", "Output"],
  ["cacheRead", "Cache read"],
  ["cacheWrite", "Cache write"],
] as const satisfies readonly [keyof PriceFieldsFragment, string][];

export interface PriceRow {
  from: string;
  /** When the next one began; null for the one that is in force. */
  until: string | null;
  /** In the order of the columns, null for each kind that isn't known; null where no price was known at all. */
  prices: readonly (string | null)[] | null;
}

/** What a model has cost, of its versions from the newest on. */
export function priceRows(newestFirst: readonly Version[]): PriceRow[] {
  return newestFirst.map(({ validFrom, price }, at) => ({
    from: validFrom,
    until: newestFirst[at - 1]?.validFrom ?? null,
    prices:
      price &&
      PRICE_KINDS.map(([kind]) => {
        const amount = price[kind];
        return amount === null ? null : formatAmount(amount, "usd");
      }),
  }));
}
