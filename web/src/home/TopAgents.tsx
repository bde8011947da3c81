import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { AgentFiguresFragment, TurnFiguresFragment } from "@/gql/graphql";
import { Cost } from "@/money/Amount";
import { formatCount } from "@/ui/format";
import { errorRate, turnWords } from "./figures";
import { Nothing, Section } from "./Section";

/** Which agents cost most, and which fail most. */
export function TopAgents({ figures }: { figures: TurnFiguresFragment }) {
  const { agentsByCost, agentsByFailures } = figures;
  return (
    <>
      {agentsByCost && (
        <Ranking
          title="Top agents by cost"
          empty="No cost in this period."
          agents={agentsByCost}
          figure={({ usage, turns }) => (
            <>
              {usage && <Cost usd={usage.costUsd} />}
              <span className="text-xs text-ink-3"> · {turnWords(turns)}</span>
            </>
          )}
        />
      )}
      <Ranking
        title="Top agents by failures"
        empty="No failures in this period."
        agents={agentsByFailures}
        figure={(agent) => (
          <>
            {formatCount(agent.failedTurns)}
            <span className="text-xs text-ink-3"> · {errorRate(agent)}</span>
          </>
        )}
      />
    </>
  );
}

interface RankingProps<Agent> {
  title: string;
  empty: string;
  agents: readonly Agent[];
  figure: (agent: Agent) => ReactNode;
}

function Ranking<Agent extends AgentFiguresFragment>(props: RankingProps<Agent>) {
  const { title, empty, agents, figure } = props;
  return (
    <Section title={title}>
      {agents.length === 0 && <Nothing>{empty}</Nothing>}
      <ol className="divide-y divide-line">
        {agents.map((each) => (
          <li
            key={each.agent?.id ?? ""}
            className="flex items-baseline justify-between gap-4 px-3.5 py-2 text-sm"
          >
            {each.agent ? (
              <Link
                to="/agents/$agentId"
                params={{ agentId: each.agent.id }}
                className="min-w-0 truncate rounded hover:underline"
              >
                {each.agent.displayName}
              </Link>
            ) : (
              <span className="text-ink-2">Trials of drafts and sessions without an agent</span>
            )}
            <span className="shrink-0 tabular-nums">{figure(each)}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
