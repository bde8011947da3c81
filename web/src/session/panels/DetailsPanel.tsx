import { BudgetPanel } from "../budget/BudgetPanel";
import { budgetIsTold } from "../feed/budgets";
import type { SessionState } from "../feed/state";
import { FilesPanel } from "./FilesPanel";
import { TodosPanel } from "./TodosPanel";
import { UsagePanel } from "./UsagePanel";

interface DetailsPanelProps {
  sessionId: string;
  state: SessionState;
  forked: boolean;
}

export function DetailsPanel({ sessionId, state, forked }: DetailsPanelProps) {
  return (
    <div className="divide-y divide-line">
      <TodosPanel sessionId={sessionId} version={state.todosVersion} />
      <FilesPanel sessionId={sessionId} version={state.filesVersion} />
      <BudgetPanel sessionId={sessionId} version={state.budgetVersion} told={budgetIsTold(state)} />
      <UsagePanel state={state} forked={forked} />
    </div>
  );
}
