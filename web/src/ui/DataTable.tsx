import type { ReactNode } from "react";
import { classes } from "./classes";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  align?: "right";
  /** The column is left out on screens narrower than this. */
  from?: "sm" | "md" | "lg";
  /** For all cells, such as a width. */
  className?: string;
  /** Of one cell, for tests and styles: `data-amount` and the like. */
  data?: (row: Row) => Record<`data-${string}`, unknown>;
  /** What the column adds up to, in the last row. */
  total?: ReactNode;
}

interface DataTableProps<Row> {
  /** Names the table for those who can't see it. */
  label: string;
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** Of each row, for tests. */
  rowData?: (row: Row) => Record<`data-${string}`, unknown>;
  /** The first one names the row. A last one without a head holds what can be done with it. */
  columns: readonly Column<Row>[];
  /** It fills the page, and so keeps the page's margins. */
  page?: boolean;
}

const FROM = { sm: "max-sm:hidden", md: "max-md:hidden", lg: "max-lg:hidden" };

/** The tables of the dashboard: lists, ledgers and figures. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, rowKey, rowData, columns, page = false } = props;
  const looks = columns.map(({ align, from, className }, at) =>
    classes(
      "px-3",
      align === "right" ? "text-right tabular-nums" : "text-left",
      from && FROM[from],
      page && at === 0 && "pl-4 sm:pl-6",
      page && at === columns.length - 1 && "pr-4 sm:pr-6",
      className,
    ),
  );
  const cell = page ? "py-2.5 align-top" : "py-2 align-top";
  const totals = columns.some(({ total }) => total !== undefined);
  return (
    <table className="w-full text-sm" aria-label={label}>
      <thead className="border-b border-line">
        <tr>
          {columns.map(({ head }, at) => (
            <th
              key={head}
              scope="col"
              className={classes("py-2 text-2xs font-medium text-ink-3", looks[at])}
            >
              {head === "" ? <span className="sr-only">Actions</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {rows.map((row) => (
          <tr key={rowKey(row)} className={page ? "hover:bg-hover" : ""} {...rowData?.(row)}>
            {columns.map((column, at) => {
              const Cell = at === 0 ? "th" : "td";
              return (
                <Cell
                  key={column.head}
                  {...(at === 0 && { scope: "row" })}
                  className={classes(cell, "font-normal", looks[at])}
                  {...column.data?.(row)}
                >
                  {column.cell(row)}
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
      {totals && (
        <tfoot className="border-t border-line font-medium">
          <tr data-line="total">
            {columns.map(({ head, total }, at) => (
              <td key={head} className={classes(cell, looks[at])}>
                {total}
              </td>
            ))}
          </tr>
        </tfoot>
      )}
    </table>
  );
}
