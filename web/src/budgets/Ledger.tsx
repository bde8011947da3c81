import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import {
  BudgetLedgerDocument,
  type BudgetLedgerQuery,
  type LedgerRowFragment,
} from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";
import { CsvLink } from "@/money/CsvLink";
import { isNegative, isZero, subtractDecimals } from "@/money/decimal";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatDateTime } from "@/ui/format";
import { SkeletonRows } from "@/ui/Loading";
import { LoadMore } from "@/ui/LoadMore";
import { type Budget, sourceWords } from "./words";

interface LedgerProps {
  budget: Budget;
  /** Grows when it has to be read again. */
  version: number;
}

const NONE = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

const connectionOf = (data: BudgetLedgerQuery) => data.budget?.ledger ?? NONE;

const HEAD = "px-3 py-2 text-2xs font-medium text-ink-3";

/** All that was posted to a budget, newest first. */
export function Ledger({ budget, version }: LedgerProps) {
  const mayExport = useMay("USAGE_READ");
  const ledger = usePages(BudgetLedgerDocument, { id: budget.id, first: 50 }, connectionOf);
  const { nodes, loading, error, reload } = ledger;
  const latest = useRef(reload);
  latest.current = reload;
  // What others post shows in the budget first.
  const shown = `${version} ${budget.balance} ${budget.spent}`;
  const read = useRef(shown);
  useEffect(() => {
    if (read.current === shown) return;
    read.current = shown;
    latest.current();
  }, [shown]);
  return (
    <section aria-label="Ledger" className="card overflow-hidden">
      <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-3.5 py-2">
        <h2 className="text-sm font-medium">Ledger</h2>
        {mayExport && nodes.length > 0 && (
          <CsvLink parameters={{ kind: "ledger", budgetId: budget.id }}>Download as CSV</CsvLink>
        )}
      </div>
      {error && (
        <div className="p-3">
          <ErrorNote onRetry={reload}>{describeError(error)}</ErrorNote>
        </div>
      )}
      {loading && <SkeletonRows rows={3} />}
      {!loading && !error && nodes.length === 0 && (
        <p className="px-3.5 py-4 text-sm text-ink-3">
          Nothing was posted yet. What calls cost and what is topped up comes here, by the call.
        </p>
      )}
      {nodes.length > 0 && (
        <table className="w-full text-sm" aria-label="Postings">
          <thead className="border-b border-line">
            <tr>
              <th scope="col" className={classes(HEAD, "text-left")}>
                When
              </th>
              <th scope="col" className={classes(HEAD, "text-left")}>
                What
              </th>
              <th scope="col" className={classes(HEAD, "text-left max-sm:hidden")}>
                Where
              </th>
              <th scope="col" className={classes(HEAD, "text-right")}>
                Amount
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {nodes.map((each) => (
              <Posting key={each.id} posting={each} />
            ))}
          </tbody>
        </table>
      )}
      <LoadMore hasMore={ledger.hasMore} loading={ledger.loadingMore} onLoad={ledger.loadMore} />
    </section>
  );
}

const CELL = "px-3 py-2 align-top";

function Posting({ posting }: { posting: LedgerRowFragment }) {
  const { id, amount, currency, source, overrun, description, createdAt } = posting;
  // A debit is positive there; here credits stand out, as what was added.
  const credit = isNegative(amount);
  return (
    <tr data-posting={id} data-source={source}>
      <td className={classes(CELL, "whitespace-nowrap text-xs text-ink-2 tabular-nums")}>
        <time dateTime={createdAt}>{formatDateTime(createdAt)}</time>
      </td>
      <td className={CELL}>
        {sourceWords(source)}
        {!isZero(overrun) && (
          <span className="ml-2">
            <Badge
              tone="warn"
              title="The provider reported more than the request allowed. It is posted in full."
            >
              {formatAmount(overrun, currency)} beyond what was reserved
            </Badge>
          </span>
        )}
        {description !== null && (
          <span className="block text-xs wrap-anywhere text-ink-3">{description}</span>
        )}
        <span className="block sm:hidden">
          <Where posting={posting} />
        </span>
      </td>
      <td className={classes(CELL, "max-sm:hidden")}>
        <Where posting={posting} />
      </td>
      <td
        data-amount={amount}
        className={classes(CELL, "text-right tabular-nums wrap-anywhere", credit && "text-ok")}
      >
        {credit
          ? `+${formatAmount(subtractDecimals("0", amount), currency)}`
          : formatAmount(amount, currency)}
      </td>
    </tr>
  );
}

const LINK = "rounded underline underline-offset-2";

function Where({ posting: { sessionId, turnId } }: { posting: LedgerRowFragment }) {
  const maySee = useMay("SESSIONS_READ");
  if (sessionId === null || !maySee) return null;
  return (
    <span className="flex flex-wrap gap-x-3 text-xs text-ink-2">
      <Link to="/sessions/$sessionId" params={{ sessionId }} className={LINK}>
        Session
      </Link>
      {turnId !== null && (
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId }}
          search={{ view: "events", turn: turnId }}
          className={LINK}
        >
          Turn
        </Link>
      )}
    </span>
  );
}
