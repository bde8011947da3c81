import { Circle, CircleCheck, CircleDot } from "lucide-react";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { SessionTodosDocument, type TodoStatus } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { RequestError } from "@/ui/ErrorNote";
import { Panel } from "./Panel";

const ICONS: Record<TodoStatus, typeof Circle> = {
  PENDING: Circle,
  IN_PROGRESS: CircleDot,
  COMPLETED: CircleCheck,
};

interface TodosPanelProps {
  sessionId: string;
  version: number;
}

export function TodosPanel({ sessionId, version }: TodosPanelProps) {
  const { data, error, reload } = useFresh(SessionTodosDocument, { id: sessionId });
  useReloadOn(version, reload);
  const todos = data?.session?.todos ?? [];
  const done = todos.filter(({ status }) => status === "COMPLETED").length;
  return (
    <Panel
      title="Plan"
      aside={
        todos.length > 0 && (
          <span className="text-xs text-ink-3 tabular-nums">
            {done}/{todos.length}
          </span>
        )
      }
    >
      <RequestError error={error} />
      {!error && todos.length === 0 && <p className="text-sm text-ink-3">No plan yet.</p>}
      <ol className="space-y-1.5 text-sm">
        {todos.map(({ content, status }, index) => {
          const Icon = ICONS[status];
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line of the plan has no other identity.
            <li key={index} className="flex items-start gap-2">
              <Icon
                size={15}
                aria-label={status.toLowerCase().replace("_", " ")}
                className={classes(
                  "mt-0.5 shrink-0",
                  status === "COMPLETED" && "text-ok",
                  status === "IN_PROGRESS" && "text-accent",
                  status === "PENDING" && "text-ink-3",
                )}
              />
              <span className={classes("wrap-anywhere", status === "COMPLETED" && "text-ink-3")}>
                {content}
              </span>
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}
