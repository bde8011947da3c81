import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Wallet } from "lucide-react";
import { useState } from "react";
import { usePages } from "@/api/usePages";
import { BudgetsDocument } from "@/gql/graphql";
import { useMay, useViewer } from "@/shell/viewer";
import { Button, ReloadButton } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { PageHeader } from "@/ui/PageHeader";
import { DisableDialog, TopUpDialog } from "./BudgetActs";
import { BudgetFilters } from "./BudgetFilters";
import { EditBudgetDialog, NewBudgetDialog } from "./BudgetForms";
import { type BudgetAct, BudgetTable } from "./BudgetTable";
import { useSubjectNames } from "./subjects";
import { useLookAgain } from "./useLookAgain";
import type { Budget } from "./words";

const PAGE_SIZE = 50;

const DIALOGS = { edit: EditBudgetDialog, topUp: TopUpDialog, disable: DisableDialog } as const;

/** What may be spent, by whom, and how much of it is left. */
export function BudgetsPage() {
  const search = useSearch({ from: "/app/budgets" });
  const { subject, subjectId, status, new: creating } = search;
  const navigate = useNavigate({ from: "/budgets" });
  const mayManage = useMay("BUDGETS_MANAGE");
  const [act, setAct] = useState<{ what: BudgetAct; on: Budget } | null>(null);
  const names = useSubjectNames();
  const budgets = usePages(
    BudgetsDocument,
    { first: PAGE_SIZE, subject: subject ?? null, subjectId: subjectId ?? null },
    (data) => data.budgets,
  );
  const { nodes, hasMore } = budgets;
  // Only the first page is read again.
  useLookAgain(budgets.reload, act !== null || creating === true || nodes.length > PAGE_SIZE);
  // The API does not choose by status: a budget's status changes with the time of day.
  const shown = status === undefined ? nodes : nodes.filter((each) => each.status === status);
  const filtered = subject !== undefined || status !== undefined;
  const openNew = () => void navigate({ search: (old) => ({ ...old, new: true }) });
  const closeNew = () => void navigate({ search: ({ new: _, ...old }) => old, replace: true });
  const ActDialog = act && DIALOGS[act.what];

  return (
    <>
      <PageHeader title="Budgets">
        <ReloadButton onClick={budgets.reload} />
        {mayManage && (
          <Button look="primary" onClick={openNew}>
            <Plus size={15} aria-hidden />
            New budget
          </Button>
        )}
      </PageHeader>
      <BudgetFilters names={names} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListBody
          list={{ ...budgets, nodes: shown }}
          empty={
            <NoBudgets
              filtered={filtered}
              more={hasMore ? nodes.length : null}
              {...(mayManage && { onCreate: openNew })}
              onClear={() => void navigate({ search: {}, replace: true })}
            />
          }
        >
          <BudgetTable
            budgets={shown}
            names={names}
            {...(mayManage && { onAct: (what, on) => setAct({ what, on }) })}
          />
        </ListBody>
        {!mayManage && shown.length > 0 && (
          <p className="px-4 py-3 text-xs text-ink-3 sm:px-6">Owners and admins manage budgets.</p>
        )}
      </div>
      {creating && mayManage && (
        <NewBudgetDialog
          forWhom={{ ...(subject && { subject }), ...(subjectId && { subjectId }) }}
          onClose={closeNew}
        />
      )}
      {act && ActDialog && <ActDialog budget={act.on} onClose={() => setAct(null)} />}
    </>
  );
}

interface NoBudgetsProps {
  filtered: boolean;
  /** How many were looked at, where there are more. */
  more: number | null;
  onCreate?: () => void;
  onClear: () => void;
}

function NoBudgets({ filtered, more, onCreate, onClear }: NoBudgetsProps) {
  const { org } = useViewer();
  if (filtered) {
    return (
      <EmptyState
        icon={<Wallet size={20} />}
        title={more === null ? "No budgets match" : `None of the newest ${more} budgets match`}
        action={<Button onClick={onClear}>Clear filters</Button>}
      >
        {more === null ? "Try fewer filters." : "Load more to look further."}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<Wallet size={20} />}
      title="No budgets yet"
      {...(onCreate && {
        action: (
          <Button look="primary" onClick={onCreate}>
            Create a budget
          </Button>
        ),
      })}
      request={curlRequest(
        "mutation ($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } userErrors { path message } } }",
        {
          input: {
            subject: "ORG",
            subjectId: org.id,
            currency: "usd",
            limit: "100",
            period: { kind: "CALENDAR", unit: "MONTH", timezone: "UTC" },
          },
        },
      )}
    >
      A budget caps the spending of the organization, an agent, a member, a customer or a session.
      It can't be exceeded: the maximum cost of each call is reserved first.{" "}
      {!onCreate && "Owners and admins manage budgets. "}
      <Link to="/usage" className="underline underline-offset-2">
        See usage
      </Link>
      .
    </EmptyState>
  );
}
