import { Link } from "@tanstack/react-router";
import { Bot, Cpu, MessagesSquare, Rocket } from "lucide-react";
import type { ReactNode } from "react";
import { useMay } from "@/shell/viewer";
import { CopyBlock } from "@/ui/CopyBlock";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";

/** The first steps, as buttons and as a request, for an organization in which nothing has run yet. */
export function GettingStarted({ hasAgents }: { hasAgents: boolean }) {
  const mayCreateAgents = useMay("CATALOG_WRITE");
  const mayRun = useMay("SESSIONS_WRITE");
  const mayConnect = useMay("PROVIDERS_MANAGE");
  if (!mayRun) {
    return (
      <EmptyState icon={<Rocket size={20} />} title="Nothing has run here yet">
        Your role may read what agents do, and not start them. As soon as somebody does, you can
        follow it here.
      </EmptyState>
    );
  }
  return (
    <div className="mx-auto max-w-2xl px-4 py-10 sm:px-6">
      <div className="mb-4 flex size-11 items-center justify-center rounded-xl border border-line bg-surface text-ink-3 shadow-card">
        <Rocket size={20} aria-hidden />
      </div>
      <h2 className="text-base font-semibold">Nothing has run here yet</h2>
      <p className="mt-1 text-sm text-ink-2">
        The simulated model that ships with this server needs no key, so you can begin at once.
      </p>
      <ol className="card mt-6 divide-y divide-line">
        {mayCreateAgents && (
          <Step icon={<Bot size={16} />} title="Create an agent" done={hasAgents}>
            <Link to="/agents/new">Say what it is for, and what it may do</Link>
          </Step>
        )}
        <Step icon={<MessagesSquare size={16} />} title="Start a session">
          <Link to="/sessions" search={{ new: "" }}>
            Talk to it and watch it work
          </Link>
        </Step>
        {mayConnect && (
          <Step icon={<Cpu size={16} />} title="Connect a model provider">
            <Link to="/models">Add a key of Anthropic, OpenAI, Google or your own server</Link>
          </Step>
        )}
      </ol>
      <p className="mt-8 mb-2 text-xs text-ink-3">or begin with the API</p>
      <CopyBlock
        label="Copy request"
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
  /** The way there. */
  children: ReactNode;
}

function Step({ icon, title, done = false, children }: StepProps) {
  return (
    <li className="flex items-center gap-3 px-4 py-3 text-sm">
      <span className="text-ink-3">{icon}</span>
      <span className="min-w-0 flex-1">
        <span className="font-medium">{title}</span>
        {done && <span className="text-ok"> · done</span>}
        <span className="block text-ink-2 underline-offset-2 [&>a]:underline">{children}</span>
      </span>
    </li>
  );
}
