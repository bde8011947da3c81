import { Link } from "@tanstack/react-router";
import type { AgentRowFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { RelativeTime } from "@/ui/Time";

export function AgentListRow({ agent }: { agent: AgentRowFragment }) {
  const archived = agent.lifecycle !== "ACTIVE";
  return (
    <li className="border-b border-line">
      <Link
        to="/agents/$agentId"
        params={{ agentId: agent.id }}
        className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-0.5 px-4 py-2.5 transition-colors hover:bg-hover focus-visible:-outline-offset-2 sm:px-6 lg:grid-cols-[minmax(0,1fr)_9rem_10rem_6rem]"
      >
        <div className={classes("min-w-0", archived && "opacity-70")}>
          <div className="flex min-w-0 items-center gap-2">
            <span className="truncate text-sm font-medium">{agent.displayName}</span>
            <span className="truncate font-mono text-2xs text-ink-3">{agent.name}</span>
            {archived && <Badge>{agent.lifecycle.toLowerCase()}</Badge>}
            <span className="hidden items-center gap-1 sm:flex">
              {agent.tags.slice(0, 3).map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
            </span>
          </div>
          <p className="truncate text-xs text-ink-3">{agent.description || "No description"}</p>
        </div>
        <span className="hidden truncate text-xs text-ink-2 lg:block">
          {agent.harness?.displayName ?? "Default harness"}
        </span>
        <span className="hidden truncate text-xs text-ink-2 lg:block">
          {agent.defaultModel?.displayName ?? "Inherited model"}
        </span>
        <span className="text-right text-xs text-ink-3">
          <RelativeTime time={agent.updatedAt} />
        </span>
      </Link>
    </li>
  );
}
