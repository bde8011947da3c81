import { useNavigate, useSearch } from "@tanstack/react-router";
import type { BudgetStatus, BudgetSubject } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { type Names, useName } from "./subjects";
import { BUDGET_STATUSES, STATUS_LABELS, SUBJECT_LABELS, SUBJECTS } from "./words";

/** Which budgets are shown; the address holds it. */
export function BudgetFilters({ names }: { names: Names | null }) {
  const { subject, subjectId, status } = useSearch({ from: "/app/budgets" });
  const navigate = useNavigate({ from: "/budgets" });
  return (
    <search className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2 sm:px-6">
      <select
        aria-label="For"
        className="control w-44"
        value={subject ?? ""}
        onChange={(event) =>
          void navigate({
            search: ({ subject: _, subjectId: __, ...old }) => ({
              ...old,
              ...(event.target.value && { subject: event.target.value as BudgetSubject }),
            }),
            replace: true,
          })
        }
      >
        <option value="">All subjects</option>
        {SUBJECTS.map((each) => (
          <option key={each} value={each}>
            {SUBJECT_LABELS[each]}
          </option>
        ))}
      </select>
      <select
        aria-label="Status"
        className="control w-44"
        value={status ?? ""}
        onChange={(event) =>
          void navigate({
            search: ({ status: _, ...old }) => ({
              ...old,
              ...(event.target.value && { status: event.target.value as BudgetStatus }),
            }),
            replace: true,
          })
        }
      >
        <option value="">Any status</option>
        {BUDGET_STATUSES.map((each) => (
          <option key={each} value={each}>
            {STATUS_LABELS[each]}
          </option>
        ))}
      </select>
      {subject !== undefined && subjectId !== undefined && (
        <OnlyFor
          subject={subject}
          subjectId={subjectId}
          names={names}
          onClear={() =>
            void navigate({ search: ({ subjectId: _, ...old }) => old, replace: true })
          }
        />
      )}
    </search>
  );
}

interface OnlyForProps {
  subject: BudgetSubject;
  subjectId: string;
  names: Names | null;
  onClear: () => void;
}

function OnlyFor({ onClear, ...subject }: OnlyForProps) {
  const name = useName(subject);
  return (
    <span className="flex min-w-0 items-center gap-1 text-sm text-ink-2">
      <span className="truncate">Only {name}</span>
      <Button look="ghost" onClick={onClear}>
        Clear
      </Button>
    </span>
  );
}
