import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { ModelPricesDocument, type ModelRowFragment } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatDateTime } from "@/ui/format";
import { SkeletonRows } from "@/ui/Loading";
import { PRICE_KINDS, priceRows } from "./priceHistory";

interface PriceHistoryProps {
  model: ModelRowFragment;
  onClose: () => void;
}

/** As many as the server gives at once. */
const MOST = 100;

const HEAD = "px-2 py-1.5 text-2xs font-medium text-ink-3";
const CELL = "px-2 py-2 align-top";

/** What a model has cost, newest first. */
export function PriceHistory({ model, onClose }: PriceHistoryProps) {
  const [{ data, error, fetching }, reload] = useQuery({
    query: ModelPricesDocument,
    variables: { id: model.id, first: MOST },
    requestPolicy: "cache-and-network",
  });
  const versions = data?.node?.__typename === "Model" ? data.node.priceHistory : null;
  return (
    <Dialog open onClose={onClose} title={`Prices of ${model.displayName}`}>
      <div className="space-y-3 p-4 text-sm">
        {error && (
          <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
            {describeError(error)}
          </ErrorNote>
        )}
        {!versions && fetching && <SkeletonRows rows={2} />}
        {versions?.length === 0 && <p className="text-ink-2">No price was ever known.</p>}
        {versions && versions.length > 0 && (
          <table className="w-full" aria-label={`Prices of ${model.displayName}`}>
            <thead className="border-b border-line">
              <tr>
                <th scope="col" className={classes(HEAD, "pl-0 text-left")}>
                  From
                </th>
                {PRICE_KINDS.map(([kind, label]) => (
                  <th key={kind} scope="col" className={classes(HEAD, "text-right last:pr-0")}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody className="divide-y divide-line">
              {priceRows(versions).map(({ from, until, prices }) => (
                <tr key={from} data-price-from={from}>
                  <th
                    scope="row"
                    className={classes(CELL, "pl-0 text-left text-xs font-normal tabular-nums")}
                  >
                    <time dateTime={from}>{formatDateTime(from)}</time>
                    {/* On a narrow screen the row above tells it. */}
                    <span
                      className={classes("block text-ink-3", until !== null && "max-sm:hidden")}
                    >
                      {until === null ? "in force" : `until ${formatDateTime(until)}`}
                    </span>
                  </th>
                  {prices === null ? (
                    <td colSpan={PRICE_KINDS.length} className={classes(CELL, "pr-0 text-right")}>
                      <Unknown>no price known</Unknown>
                    </td>
                  ) : (
                    PRICE_KINDS.map(([kind], at) => (
                      <td
                        key={kind}
                        className={classes(CELL, "text-right tabular-nums last:pr-0 max-sm:px-1")}
                      >
                        {prices[at] ?? <Unknown>not known</Unknown>}
                      </td>
                    ))
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {versions?.length === MOST && (
          <p className="text-xs text-ink-3">
            These are the newest {MOST}; there may be earlier ones.
          </p>
        )}
        <p className="text-xs text-ink-3">
          In dollars per million tokens. What a call has cost was decided by the prices of its time,
          and stays. Where a kind of token has no price, calls that use it have no known cost,
          unless the provider tells it.
        </p>
      </div>
    </Dialog>
  );
}

function Unknown({ children }: { children: string }) {
  return <span className="text-xs text-ink-3 italic">{children}</span>;
}
