/** The agent that a new session can only mean: the one of its harness, or without one the organization's. Empty where there is a choice. */
export function onlyAgent(
  agents: {
    nodes: readonly { id: string; harness: { id: string } | null }[];
    pageInfo: { hasNextPage: boolean };
  },
  harnessId: string,
): string {
  const own = agents.nodes.filter(({ harness }) => harnessId === "" || harness?.id === harnessId);
  return own.length === 1 && own[0] && !agents.pageInfo.hasNextPage ? own[0].id : "";
}
