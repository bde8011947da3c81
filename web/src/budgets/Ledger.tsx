import { useEffect, useRef } from "react";
import { usePages } from "@/api/usePages";
import {
  BudgetLedgerDocument,
  type BudgetLedgerQuery,
  type LedgerRowFragment,
} from "@/gql/graphql";
import { Amount } from "@/money/Amount";
import { isNegative, isZero, subtractDecimals } from "@/money/decimal";
import { TurnLinks } from "@/sessions/TurnLinks";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { CsvLink } from "@/ui/CsvLink";
import { type Column, DataTable } from "@/ui/DataTable";
import { formatDateTime } from "@/ui/format";
import { ListBody } from "@/ui/ListBody";
import { type Budget, sourceWords } from "./words";

interface LedgerProps {
  budget: Budget;
  /** Grows when it has to be read again. */
  version: number;
}

const connectionOf = (data: BudgetLedgerQuery) => data.budget?.ledger;

/** All that was posted to a budget, newest first. */
export function Ledger({ budget, version }: LedgerProps) {
  const mayExport = useMay("USAGE_READ");
  const ledger = usePages(BudgetLedgerDocument, { id: budget.id, first: 50 }, connectionOf);
  const { nodes, reload } = ledger;
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
          <CsvLink of="usage" parameters={{ kind: "ledger", budgetId: budget.id }}>
            Download CSV
          </CsvLink>
        )}
      </div>
      <ListBody
        list={ledger}
        skeletons={3}
        empty={
          <p className="px-3.5 py-4 text-sm text-ink-3">
            No entries yet. Each call and top-up is recorded here.
          </p>
        }
      >
        <DataTable
          label="Ledger entries"
          rows={nodes}
          rowKey={({ id }) => id}
          rowData={({ id, source }) => ({ "data-posting": id, "data-source": source })}
          columns={COLUMNS}
        />
      </ListBody>
    </section>
  );
}

const COLUMNS: Column<LedgerRowFragment>[] = [
  {
    head: "Time",
    className: "whitespace-nowrap text-xs text-ink-2 tabular-nums",
    cell: ({ createdAt }) => <time dateTime={createdAt}>{formatDateTime(createdAt)}</time>,
  },
  {
    head: "Entry",
    cell: (posting) => (
      <>
        {sourceWords(posting.source)}
        {!isZero(posting.overrun) && (
          <span className="ml-2">
            <Badge
              tone="warn"
              title="The provider reported more than the request allowed. It is charged in full."
            >
              <Amount of={posting.overrun} currency={posting.currency} /> over the reservation
            </Badge>
          </span>
        )}
        {posting.description !== null && (
          <span className="block text-xs wrap-anywhere text-ink-3">{posting.description}</span>
        )}
        <span className="block sm:hidden">
          <TurnLinks sessionId={posting.sessionId} turnId={posting.turnId} />
        </span>
      </>
    ),
  },
  {
    head: "Session",
    from: "sm",
    cell: ({ sessionId, turnId }) => <TurnLinks sessionId={sessionId} turnId={turnId} />,
  },
  {
    head: "Amount",
    align: "right",
    data: ({ amount }) => ({ "data-amount": amount }),
    // A debit is positive there; here credits stand out, as what was added.
    cell: ({ amount, currency }) =>
      isNegative(amount) ? (
        <span className="text-ok">
          +<Amount of={subtractDecimals("0", amount)} currency={currency} />
        </span>
      ) : (
        <Amount of={amount} currency={currency} />
      ),
  },
];
