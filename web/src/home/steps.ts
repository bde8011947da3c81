import type { LinkProps } from "@tanstack/react-router";
import type { HomeQuery, Permission } from "@/gql/graphql";

/** The name of the agent that every organization begins with. */
const DEMO_AGENT = "demo";

export interface FirstStep {
  title: string;
  about: string;
  done: boolean;
  link: Pick<LinkProps, "to" | "search">;
}

/** What tells how far an organization is. */
export type StepFacts = Pick<HomeQuery, "agents" | "providers" | "apiKeys">;

/** What a newcomer with these permissions does first, in this order. `started` is whether there has been a session. */
export function firstSteps(
  permissions: readonly Permission[],
  { agents, providers, apiKeys }: StepFacts,
  started: boolean,
): FirstStep[] {
  const steps: (FirstStep & { needs: Permission })[] = [
    {
      needs: "SESSIONS_WRITE",
      title: "Start a session",
      about: "Talk to an agent and watch it work.",
      done: started,
      link: { to: "/sessions", search: { new: "" } },
    },
    {
      needs: "CATALOG_WRITE",
      title: "Create an agent",
      about: "Give it instructions and tools.",
      done: (agents?.nodes ?? []).some(({ name }) => name !== DEMO_AGENT),
      link: { to: "/agents/new" },
    },
    {
      needs: "PROVIDERS_MANAGE",
      title: "Connect a model provider",
      about: "Use Anthropic, OpenAI, Google or your own server.",
      done: (providers?.nodes ?? []).some(({ kind }) => kind !== "SIMULATED"),
      link: { to: "/models" },
    },
    {
      needs: "API_KEYS_MANAGE",
      title: "Use the API",
      about: "Create a key, and run a session from your own code.",
      done: (apiKeys?.nodes.length ?? 0) > 0,
      link: { to: "/api" },
    },
  ];
  return steps.filter(({ needs }) => permissions.includes(needs));
}
