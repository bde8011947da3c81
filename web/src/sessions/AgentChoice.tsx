import { useState } from "react";
import { useQuery } from "urql";
import { useFresh } from "@/api/useFresh";
import { nameBeside } from "@/catalog/names";
import { AgentDocument, SessionFormOptionsDocument } from "@/gql/graphql";
import { RadioList } from "@/ui/RadioList";
import { useDebounced } from "@/ui/useDebounced";

interface AgentChoiceProps {
  /** An agent that is offered before all others; empty for none. */
  first: string;
  /** An agent's id; empty for none. */
  value: string;
  onChange: (agentId: string) => void;
  errors: readonly string[];
}

const SEARCH_FROM = 6;

/** Radio buttons for agents, with a search once there are many. */
export function AgentChoice({ first, value, onChange, errors }: AgentChoiceProps) {
  const [text, setText] = useState("");
  const search = useDebounced(text.trim(), 200);
  const { data } = useFresh(SessionFormOptionsDocument, { search: search || null });
  const [{ data: known }] = useQuery({
    query: AgentDocument,
    variables: { id: first },
    pause: first === "",
  });
  const listed = data?.agents.nodes ?? [];
  // It may be older than all that are listed.
  const agents =
    known?.agent && search === ""
      ? [known.agent, ...listed.filter(({ id }) => id !== first)]
      : listed;
  const searchable = search !== "" || text !== "" || agents.length >= SEARCH_FROM;

  return (
    <RadioList
      legend="Agent"
      search={searchable ? { label: "Search agents by name", text, onText: setText } : null}
      options={[
        { id: "", title: "No agent", note: "Harness only" },
        ...agents.map((agent) => ({
          id: agent.id,
          title: agent.displayName,
          note: nameBeside(agent) ?? "",
        })),
      ]}
      none="No agents match."
      value={value}
      onChange={onChange}
      errors={errors}
    />
  );
}
