import { Link } from "@tanstack/react-router";
import { Bot, ChevronRight, Cpu, MessagesSquare, Rocket } from "lucide-react";
import { type ReactNode, useId } from "react";
import { useMay } from "@/shell/viewer";
import { ApiRequest, EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";

/** The first steps, as buttons and as a request, for an organization in which nothing has run yet. */
export function GettingStarted({ hasAgents }: { hasAgents: boolean }) {
  const mayCreateAgents = useMay("CATALOG_WRITE");
  const mayRun = useMay("SESSIONS_WRITE");
  const mayConnect = useMay("PROVIDERS_MANAGE");
  if (!mayRun) {
    return (
      <EmptyState icon={<Rocket size={20} />} title="No sessions yet">
        Your role can view sessions but not start them. Sessions started by others appear here.
      </EmptyState>
    );
  }
  return (
    <div className="mx-auto max-w-2xl px-4 py-10 sm:px-6">
      <div className="mb-4 flex size-11 items-center justify-center rounded-xl border border-line bg-surface text-ink-3 shadow-card">
        <Rocket size={20} aria-hidden />
      </div>
      <h2 className="text-base font-semibold">No sessions yet</h2>
      <p className="mt-1 text-sm text-ink-2">
        You can start right away: this server includes a simulated model that needs no API key.
      </p>
      <ol className="card mt-6 divide-y divide-line">
        {mayCreateAgents && (
          <Step icon={<Bot size={16} />} title="Create an agent" done={hasAgents} to="/agents/new">
            Give it instructions and tools.
          </Step>
        )}
        <Step
          icon={<MessagesSquare size={16} />}
          title="Start a session"
          to="/sessions"
          search={{ new: "" }}
        >
          Talk to an agent and watch it work.
        </Step>
        {mayConnect && (
          <Step icon={<Cpu size={16} />} title="Connect a model provider" to="/models">
            Use Anthropic, OpenAI, Google or your own server.
          </Step>
        )}
      </ol>
      <ApiRequest
        text={curlRequest(
          "mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id } userErrors { path message } } }",
          { input: { title: "First steps" } },
        )}
      />
    </div>
  );
}

interface StepProps {
  icon: ReactNode;
  title: string;
  done?: boolean;
  to: "/agents/new" | "/sessions" | "/models";
  search?: { new: string };
  /** What it is for. */
  children: string;
}

/** The whole row is the link, and its name is its title. */
function Step({ icon, title, done = false, to, search, children }: StepProps) {
  const about = useId();
  return (
    <li>
      <Link
        to={to}
        {...(search && { search })}
        aria-label={done ? `${title} (done)` : title}
        aria-describedby={about}
        className="flex items-center gap-3 px-4 py-3 text-sm transition-colors hover:bg-hover focus-visible:-outline-offset-2"
      >
        <span className="text-ink-3">{icon}</span>
        <span className="min-w-0 flex-1">
          <span className="font-medium">{title}</span>
          {done && <span className="text-ok"> · done</span>}
          <span id={about} className="block text-ink-2">
            {children}
          </span>
        </span>
        <ChevronRight size={16} aria-hidden className="text-ink-3" />
      </Link>
    </li>
  );
}
