import { Link } from "@tanstack/react-router";
import { Ban, Coins, Ellipsis, Pencil } from "lucide-react";
import { Amount } from "@/money/Amount";
import { isZero } from "@/money/decimal";
import { IconButton } from "@/ui/Button";
import { type Column, DataTable } from "@/ui/DataTable";
import { Menu, MenuItem } from "@/ui/Menu";
import { BudgetBar, Left } from "./BudgetBar";
import { StandingBadge } from "./StandingBadge";
import { type Names, useName } from "./subjects";
import { type Budget, periodWords, renewalWords, SUBJECT_LABELS } from "./words";

/** What opens a dialog. */
export type BudgetAct = "edit" | "topUp" | "disable";

interface BudgetTableProps {
  budgets: readonly Budget[];
  names: Names | null;
  /** Left out for those who may not. */
  onAct?: (what: BudgetAct, budget: Budget) => void;
}

export function BudgetTable({ budgets, names, onAct }: BudgetTableProps) {
  const columns: Column<Budget>[] = [
    {
      head: "For",
      cell: (budget) => (
        <>
          <Link
            to="/budgets/$budgetId"
            params={{ budgetId: budget.id }}
            className="rounded font-medium wrap-anywhere underline-offset-2 hover:underline"
          >
            <Name budget={budget} names={names} />
          </Link>
          <span className="block min-w-36 text-xs text-ink-3">
            {SUBJECT_LABELS[budget.subject]}
          </span>
          <span className="mt-1 block sm:hidden">
            <StandingBadge budget={budget} />
          </span>
        </>
      ),
    },
    {
      head: "Limit",
      align: "right",
      from: "lg",
      cell: ({ limit, softLimit, currency }) => (
        <>
          <Amount of={limit} currency={currency} />
          {softLimit !== null && (
            <span className="block text-xs whitespace-nowrap text-ink-3">
              soft <Amount of={softLimit} currency={currency} />
            </span>
          )}
        </>
      ),
    },
    {
      head: "Spent",
      align: "right",
      from: "lg",
      cell: ({ spent, currency }) => <Amount of={spent} currency={currency} />,
    },
    {
      head: "Reserved",
      align: "right",
      from: "lg",
      cell: ({ reserved, currency }) =>
        isZero(reserved) ? (
          <span className="text-ink-3">–</span>
        ) : (
          <Amount of={reserved} currency={currency} />
        ),
    },
    {
      head: "Balance",
      className: "w-2/5 lg:w-1/6",
      cell: (budget) => (
        <>
          <span className="block py-1.5">
            <NamedBar budget={budget} names={names} />
          </span>
          <span className="block text-xs text-ink-2 tabular-nums">
            <Left budget={budget} />
          </span>
        </>
      ),
    },
    {
      head: "Period",
      from: "md",
      className: "xl:min-w-52",
      cell: (budget) => (
        <>
          {periodWords(budget.period)}
          <span className="block text-xs text-ink-3">{renewalWords(budget)}</span>
        </>
      ),
    },
    { head: "Status", from: "sm", cell: (budget) => <StandingBadge budget={budget} /> },
  ];
  if (onAct) {
    columns.push({
      head: "",
      align: "right",
      cell: (budget) =>
        budget.status !== "DISABLED" && <Actions budget={budget} names={names} onAct={onAct} />,
    });
  }
  return (
    <DataTable
      page
      label="Budgets"
      rows={budgets}
      rowKey={({ id }) => id}
      rowData={({ id }) => ({ "data-budget": id })}
      columns={columns}
    />
  );
}

interface RowProps {
  budget: Budget;
  names: Names | null;
}

function Name({ budget, names }: RowProps) {
  return useName({ ...budget, names });
}

function NamedBar({ budget, names }: RowProps) {
  return (
    <BudgetBar budget={budget} label={`Spent of the budget of ${useName({ ...budget, names })}`} />
  );
}

function Actions({ budget, names, onAct }: RowProps & Required<Pick<BudgetTableProps, "onAct">>) {
  const name = useName({ ...budget, names });
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for the budget of ${name}`} className="-my-1.5">
          <Ellipsis size={16} />
        </IconButton>
      }
    >
      <MenuItem icon={<Coins size={14} />} onSelect={() => onAct("topUp", budget)}>
        Top up…
      </MenuItem>
      <MenuItem icon={<Pencil size={14} />} onSelect={() => onAct("edit", budget)}>
        Edit…
      </MenuItem>
      <MenuItem icon={<Ban size={14} />} onSelect={() => onAct("disable", budget)}>
        Disable…
      </MenuItem>
    </Menu>
  );
}
