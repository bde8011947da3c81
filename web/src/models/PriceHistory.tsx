import { useFresh } from "@/api/useFresh";
import { ModelPricesDocument, type ModelRowFragment } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { type Column, DataTable } from "@/ui/DataTable";
import { Dialog } from "@/ui/Dialog";
import { RequestError } from "@/ui/ErrorNote";
import { formatDateTime } from "@/ui/format";
import { SkeletonRows } from "@/ui/Loading";
import { ExactTime } from "@/ui/Time";
import { PRICE_KINDS, type PriceRow, priceRows } from "./priceHistory";

interface PriceHistoryProps {
  model: ModelRowFragment;
  onClose: () => void;
}

/** As many as the server gives at once. */
const MOST = 100;

const COLUMNS: Column<PriceRow>[] = [
  {
    head: "From",
    className: "text-xs tabular-nums",
    cell: ({ from, until }) => (
      <>
        <ExactTime time={from} />
        {/* On a narrow screen the row above tells it. */}
        <span className={classes("block text-ink-3", until !== null && "max-sm:hidden")}>
          {until === null ? "current" : `until ${formatDateTime(until)}`}
        </span>
      </>
    ),
  },
  ...PRICE_KINDS.map(
    ([, head], at): Column<PriceRow> => ({
      head,
      align: "right",
      className: "max-sm:px-1",
      cell: ({ prices }) => prices?.[at] ?? <Unknown>unknown</Unknown>,
    }),
  ),
];

/** What a model has cost, newest first. */
export function PriceHistory({ model, onClose }: PriceHistoryProps) {
  const { data, error, fetching, reload } = useFresh(ModelPricesDocument, {
    id: model.id,
    first: MOST,
  });
  const versions = data?.node?.__typename === "Model" ? data.node.priceHistory : null;
  return (
    <Dialog open onClose={onClose} title={`Prices of ${model.displayName}`}>
      <div className="space-y-3 p-4 text-sm">
        <RequestError error={error} onRetry={reload} />
        {!versions && fetching && <SkeletonRows rows={2} />}
        {versions?.length === 0 && <p className="text-ink-2">No known prices.</p>}
        {versions && versions.length > 0 && (
          <DataTable
            label={`Prices of ${model.displayName}`}
            rows={priceRows(versions)}
            rowKey={({ from }) => from}
            rowData={({ from }) => ({ "data-price-from": from })}
            columns={COLUMNS}
          />
        )}
        {versions?.length === MOST && (
          <p className="text-xs text-ink-3">Showing the newest {MOST}.</p>
        )}
        <p className="text-xs text-ink-3">
          US dollars per 1M tokens. Each call uses the price at its time. Calls that use tokens
          without a price have an unknown cost unless the provider reports it.
        </p>
      </div>
    </Dialog>
  );
}

function Unknown({ children }: { children: string }) {
  return <span className="text-xs text-ink-3 italic">{children}</span>;
}
