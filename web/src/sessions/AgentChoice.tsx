import { useId, useState } from "react";
import { useFresh } from "@/api/useFresh";
import { SessionFormOptionsDocument } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { useDebounced } from "@/ui/useDebounced";

interface AgentChoiceProps {
  /** An agent's id; empty for none. */
  value: string;
  onChange: (agentId: string) => void;
  errors: readonly string[];
}

const SEARCH_FROM = 6;

/** Radio buttons for agents, with a search once there are many. */
export function AgentChoice({ value, onChange, errors }: AgentChoiceProps) {
  const [text, setText] = useState("");
  const search = useDebounced(text.trim(), 200);
  const name = useId();
  const { data } = useFresh(SessionFormOptionsDocument, { search: search || null });
  const agents = data?.agents.nodes ?? [];
  const searchable = search !== "" || text !== "" || agents.length >= SEARCH_FROM;

  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">Agent</legend>
      {searchable && (
        <input
          type="search"
          aria-label="Search agents"
          placeholder="Search by name"
          className="control mb-2"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      <div className="max-h-60 overflow-y-auto rounded-md border border-line">
        <Choice name={name} value="" chosen={value} onChoose={onChange} title="No agent">
          Harness only
        </Choice>
        {agents.map((agent) => (
          <Choice
            key={agent.id}
            name={name}
            value={agent.id}
            chosen={value}
            onChoose={onChange}
            title={agent.displayName}
          >
            {agent.name}
          </Choice>
        ))}
        {search !== "" && agents.length === 0 && (
          <p className="px-3 py-2 text-xs text-ink-3">No agents match.</p>
        )}
      </div>
      {errors.length > 0 && <p className="mt-1.5 text-xs text-bad">{errors.join(" ")}</p>}
    </fieldset>
  );
}

interface ChoiceProps {
  name: string;
  value: string;
  chosen: string;
  onChoose: (value: string) => void;
  title: string;
  children: string;
}

function Choice({ name, value, chosen, onChoose, title, children }: ChoiceProps) {
  return (
    <label
      className={classes(
        "flex items-center gap-2.5 border-b border-line px-3 py-2 text-sm last:border-b-0 hover:bg-hover",
        chosen === value && "bg-accent-soft",
      )}
    >
      <input
        type="radio"
        name={name}
        value={value}
        checked={chosen === value}
        onChange={() => onChoose(value)}
        className="size-3.5 accent-(--accent)"
      />
      <span className="min-w-0 flex-1 truncate">{title}</span>
      <span className="truncate text-xs text-ink-3">{children}</span>
    </label>
  );
}
