import { useNavigate, useSearch } from "@tanstack/react-router";
import { useQuery } from "urql";
import { SessionFormOptionsDocument } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { SESSION_STATUSES } from "./search";
import { STATUS_LABELS } from "./status";

export function SessionFilters() {
  const { status, agent } = useSearch({ from: "/app/sessions" });
  const navigate = useNavigate({ from: "/sessions" });
  const [{ data }] = useQuery({
    query: SessionFormOptionsDocument,
    variables: { search: null },
  });
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-2 sm:px-6">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be wrong here, nothing is submitted. */}
      <div role="group" aria-label="Status" className="flex flex-wrap gap-0.5">
        {[undefined, ...SESSION_STATUSES].map((each) => (
          <button
            key={each ?? "all"}
            type="button"
            aria-pressed={status === each}
            onClick={() =>
              void navigate({ search: (search) => ({ ...search, status: each }), replace: true })
            }
            className={classes(
              "rounded-md px-2.5 py-1 text-sm transition-colors",
              status === each ? "bg-hover font-medium text-ink" : "text-ink-2 hover:text-ink",
            )}
          >
            {each ? STATUS_LABELS[each] : "All"}
          </button>
        ))}
      </div>
      <select
        aria-label="Agent"
        className="control w-full sm:w-52"
        value={agent ?? ""}
        onChange={(event) =>
          void navigate({
            search: (search) => ({ ...search, agent: event.target.value || undefined }),
            replace: true,
          })
        }
      >
        <option value="">All agents</option>
        {agent && !data?.agents.nodes.some(({ id }) => id === agent) && (
          <option value={agent}>The agent of this link</option>
        )}
        {data?.agents.nodes.map(({ id, displayName }) => (
          <option key={id} value={id}>
            {displayName}
          </option>
        ))}
      </select>
    </div>
  );
}
