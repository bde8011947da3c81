import { Link, type LinkProps } from "@tanstack/react-router";
import { Check, ChevronRight, Rocket } from "lucide-react";
import { useMay, useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { EmptyState } from "@/ui/EmptyState";
import { Section } from "./Section";
import { firstSteps, type StepFacts } from "./steps";

interface GettingStartedProps {
  started: boolean;
  /** Null for who has dismissed it. */
  facts: StepFacts | null;
  onDismiss: () => void;
}

/** The first steps in an organization and how far they are, until they are done or dismissed. */
export function GettingStarted({ started, facts, onDismiss }: GettingStartedProps) {
  const { org, permissions } = useViewer();
  const mayRun = useMay("SESSIONS_WRITE");
  if (!mayRun || !facts) return started ? null : <NothingYet mayRun={mayRun} />;
  const steps = firstSteps(permissions, facts, started);
  const left = steps.filter(({ done }) => !done).length;
  if (left === 0) return null;
  const card = (
    <Section
      title="Get started"
      aside={
        <span className="flex items-center gap-2 text-xs text-ink-3">
          <span>
            {steps.length - left} of {steps.length} done
          </span>
          <Button look="ghost" className="h-6 px-1.5 text-xs" onClick={onDismiss}>
            Dismiss
          </Button>
        </span>
      }
    >
      <ol className="divide-y divide-line">
        {steps.map((step) => (
          <Step key={step.title} {...step} />
        ))}
      </ol>
    </Section>
  );
  if (started) return card;
  return (
    <div className="mx-auto max-w-2xl px-4 py-10 sm:px-6">
      <div className="mb-4 flex size-11 items-center justify-center rounded-xl border border-line bg-surface text-ink-3 shadow-card">
        <Rocket size={20} aria-hidden />
      </div>
      <h2 className="text-base font-semibold">Welcome to {org.name}</h2>
      <p className="mt-1 mb-6 text-sm text-ink-2">
        An agent says what to do and with which tools; a session is a conversation with it. A demo
        agent is ready: it runs on a simulated model that needs no API key.
      </p>
      {card}
    </div>
  );
}

function NothingYet({ mayRun }: { mayRun: boolean }) {
  return (
    <EmptyState icon={<Rocket size={20} />} title="No sessions yet">
      {mayRun
        ? "Start one to talk to an agent. Everything that runs appears here, live."
        : "Your role can view sessions but not start them. Sessions started by others appear here."}
    </EmptyState>
  );
}

interface StepProps {
  title: string;
  about: string;
  done: boolean;
  link: Pick<LinkProps, "to" | "search">;
}

/** The whole row is the link. */
function Step({ title, about, done, link }: StepProps) {
  return (
    <li>
      <Link
        {...link}
        className="flex items-center gap-3 px-4 py-3 text-sm transition-colors hover:bg-hover focus-visible:-outline-offset-2"
      >
        <span
          className={classes(
            "flex size-5 shrink-0 items-center justify-center rounded-full border",
            done ? "border-ok text-ok" : "border-line-strong text-transparent",
          )}
        >
          <Check size={13} aria-hidden />
        </span>
        <span className="min-w-0 flex-1">
          <span className={done ? "text-ink-2" : "font-medium"}>{title}</span>
          <span className="block text-ink-2">
            {done && <span className="sr-only">Done. </span>}
            {about}
          </span>
        </span>
        <ChevronRight size={16} aria-hidden className="text-ink-3" />
      </Link>
    </li>
  );
}
