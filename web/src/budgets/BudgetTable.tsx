import { Link } from "@tanstack/react-router";
import { Ban, Coins, Ellipsis, Pencil } from "lucide-react";
import { formatNumber } from "@/money/amounts";
import { isZero } from "@/money/decimal";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Menu, MenuItem } from "@/ui/Menu";
import { BudgetBar, leftWords } from "./BudgetBar";
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

const HEAD = "px-3 py-2 text-2xs font-medium text-ink-3";
const CELL = "px-3 py-2.5 align-top";

export function BudgetTable({ budgets, names, onAct }: BudgetTableProps) {
  return (
    <table className="w-full text-sm" aria-label="Budgets">
      <thead className="border-b border-line">
        <tr>
          <th scope="col" className={classes(HEAD, "text-left pl-4 sm:pl-6")}>
            For
          </th>
          <th scope="col" className={classes(HEAD, "text-right max-lg:hidden")}>
            Limit
          </th>
          <th scope="col" className={classes(HEAD, "text-right max-lg:hidden")}>
            Spent
          </th>
          <th scope="col" className={classes(HEAD, "text-right max-lg:hidden")}>
            Reserved
          </th>
          <th scope="col" className={classes(HEAD, "text-left w-2/5 lg:w-1/4")}>
            Balance
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-md:hidden")}>
            Period
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-sm:hidden")}>
            Status
          </th>
          {onAct && (
            <th scope="col" className="pr-4 sm:pr-6">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {budgets.map((each) => (
          <BudgetRow key={each.id} budget={each} names={names} {...(onAct && { onAct })} />
        ))}
      </tbody>
    </table>
  );
}

interface BudgetRowProps {
  budget: Budget;
  names: Names | null;
  onAct?: (what: BudgetAct, budget: Budget) => void;
}

function BudgetRow({ budget, names, onAct }: BudgetRowProps) {
  const { id, subject, currency, limit, softLimit, spent, reserved, balance, status } = budget;
  const name = useName({ ...budget, names });
  const renewal = renewalWords(budget);
  return (
    <tr data-budget={id} className="border-b border-line hover:bg-hover">
      <th scope="row" className={classes(CELL, "pl-4 text-left font-normal sm:pl-6")}>
        <Link
          to="/budgets/$budgetId"
          params={{ budgetId: id }}
          className="rounded font-medium wrap-anywhere underline-offset-2 hover:underline"
        >
          {name}
        </Link>
        <span className="block min-w-36 text-xs text-ink-3">
          {SUBJECT_LABELS[subject]} · {currency}
        </span>
        <span className="mt-1 block sm:hidden">
          <StandingBadge budget={budget} />
        </span>
      </th>
      <td className={classes(CELL, "text-right tabular-nums max-lg:hidden")}>
        {formatNumber(limit, currency)}
        {softLimit !== null && (
          <span className="block text-xs whitespace-nowrap text-ink-3">
            soft {formatNumber(softLimit, currency)}
          </span>
        )}
      </td>
      <td className={classes(CELL, "text-right tabular-nums max-lg:hidden")}>
        {formatNumber(spent, currency)}
      </td>
      <td className={classes(CELL, "text-right tabular-nums max-lg:hidden")}>
        {isZero(reserved) ? (
          <span className="text-ink-3">–</span>
        ) : (
          formatNumber(reserved, currency)
        )}
      </td>
      <td className={CELL}>
        <span className="block py-1.5">
          <BudgetBar budget={budget} label={`Spent of the budget of ${name}`} />
        </span>
        <span className="block text-xs text-ink-2 tabular-nums">
          {leftWords(balance, currency)}
        </span>
      </td>
      <td className={classes(CELL, "max-md:hidden")}>
        {periodWords(budget.period)}
        {renewal !== null && <span className="block text-xs text-ink-3">{renewal}</span>}
      </td>
      <td className={classes(CELL, "max-sm:hidden")}>
        <StandingBadge budget={budget} />
      </td>
      {onAct && (
        <td className={classes(CELL, "pr-4 text-right sm:pr-6")}>
          {status !== "DISABLED" && (
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
          )}
        </td>
      )}
    </tr>
  );
}
