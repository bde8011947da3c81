import { useEffect, useState } from "react";
import { type CombinedError, useClient } from "urql";
import { UsageDocument, type UsageGroup } from "@/gql/graphql";
import type { UsageRow } from "./figures";
import type { Days } from "./range";

const PAGE = 100;
/** 90 days of 20 models; what is beyond that is left out, and that is said. */
const MOST_PAGES = 20;

interface Usage {
  rows: readonly UsageRow[];
  /** Whether these are all. */
  complete: boolean;
}

interface Reading {
  /** What was asked for; null before the first answer. */
  key: string | null;
  usage: Usage | null;
  error: CombinedError | null;
}

const NONE: Reading = { key: null, usage: null, error: null };

/** All rows of a grouping: sums are right only with the last of them. */
export function useUsage(
  groupBy: readonly UsageGroup[],
  days: Pick<Days, "from" | "to"> | null,
  version = 0,
): { usage: Usage | null; error: CombinedError | null; loading: boolean } {
  const client = useClient();
  const [reading, setReading] = useState(NONE);
  const key = days && JSON.stringify([groupBy, days.from, days.to]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key holds what is asked for.
  useEffect(() => {
    if (days === null) return;
    let current = true;
    const read = async () => {
      const rows: UsageRow[] = [];
      let after: string | null = null;
      for (let page = 0; page < MOST_PAGES; page++) {
        const answer: Awaited<ReturnType<typeof ask>> = await ask(after);
        if (!current) return;
        if (!answer.data) {
          setReading({ key, usage: null, error: answer.error ?? null });
          return;
        }
        const { edges, pageInfo } = answer.data.usage;
        rows.push(...edges.map(({ node }) => node));
        after = pageInfo.endCursor;
        if (!pageInfo.hasNextPage) break;
        if (page === MOST_PAGES - 1) {
          setReading({ key, usage: { rows, complete: false }, error: null });
          return;
        }
      }
      setReading({ key, usage: { rows, complete: true }, error: null });
    };
    const ask = (from: string | null) =>
      client
        .query(
          UsageDocument,
          { groupBy: [...groupBy], from: days.from, to: days.to, first: PAGE, after: from },
          { requestPolicy: "network-only" },
        )
        .toPromise();
    void read();
    return () => {
      current = false;
    };
  }, [client, key, version]);

  // What was asked for before is no answer to what is asked for now.
  const fits = reading.key === key;
  return {
    usage: fits ? reading.usage : null,
    error: fits ? reading.error : null,
    loading: days !== null && !fits,
  };
}
