import type { ReactNode } from "react";
import { BudgetPanel } from "../budget/BudgetPanel";
import type { SessionState } from "../feed/state";
import { FilesPanel } from "./FilesPanel";
import { TodosPanel } from "./TodosPanel";
import { UsagePanel } from "./UsagePanel";

interface DetailsPanelProps {
  sessionId: string;
  state: SessionState;
}

export function DetailsPanel({ sessionId, state }: DetailsPanelProps) {
  return (
    <div className="divide-y divide-line">
      <TodosPanel sessionId={sessionId} version={state.todosVersion} />
      <FilesPanel sessionId={sessionId} version={state.filesVersion} />
      <BudgetPanel sessionId={sessionId} version={state.budgetVersion} />
      <UsagePanel state={state} />
    </div>
  );
}

interface PanelProps {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}

export function Panel({ title, aside, children }: PanelProps) {
  return (
    <section className="p-4">
      <div className="mb-2 flex items-center justify-between">
        <h2 className="section-title">{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
