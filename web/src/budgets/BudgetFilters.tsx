import { useNavigate, useSearch } from "@tanstack/react-router";
import type { BudgetSubject } from "@/gql/graphql";
import { type Change, changed } from "@/shell/search";
import { Button } from "@/ui/Button";
import { Filter } from "@/ui/Field";
import type { BudgetsSearch } from "./search";
import { type Names, useName } from "./subjects";
import { BUDGET_STATUSES, STATUS_LABELS, SUBJECT_LABELS, SUBJECTS } from "./words";

/** Which budgets are shown; the address holds it. */
export function BudgetFilters({ names }: { names: Names | null }) {
  const { subject, subjectId, status } = useSearch({ from: "/app/budgets" });
  const navigate = useNavigate({ from: "/budgets" });
  const change = (next: Change<BudgetsSearch>) =>
    void navigate({ search: (old) => changed(old, next), replace: true });
  return (
    <search className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2 sm:px-6">
      <Filter
        label="For"
        value={subject}
        none="All subjects"
        options={SUBJECTS.map((each) => [each, SUBJECT_LABELS[each]])}
        onChange={(next) => change({ subject: next, subjectId: undefined })}
      />
      <Filter
        label="Status"
        value={status}
        none="Any status"
        options={BUDGET_STATUSES.map((each) => [each, STATUS_LABELS[each]])}
        onChange={(next) => change({ status: next })}
      />
      {subject !== undefined && subjectId !== undefined && (
        <OnlyFor
          subject={subject}
          subjectId={subjectId}
          names={names}
          onClear={() => change({ subjectId: undefined })}
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
