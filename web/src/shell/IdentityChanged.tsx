import { ArrowLeftRight } from "lucide-react";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { useSwitchOrg } from "./useSwitchOrg";
import type { Viewer } from "./viewer";

interface IdentityChangedProps {
  /** Whom and which organization this page was opened for. */
  began: Viewer;
  now: Viewer;
}

/** What is shown instead of a page whose organization or person another tab has left behind. */
export default function IdentityChanged({ began, now }: IdentityChangedProps) {
  const { change, problem } = useSwitchOrg();
  const samePerson = began.user?.id === now.user?.id;
  const mayGoBack = samePerson && now.orgs.some(({ id }) => id === began.org.id);
  return (
    <main className="flex min-h-dvh items-center justify-center">
      <div className="w-full">
        <EmptyState
          icon={<ArrowLeftRight size={20} />}
          title={
            samePerson
              ? `You are in ${now.org.name} now`
              : `You are signed in as ${now.user?.name ?? "someone else"} now`
          }
          action={
            <div className="flex flex-wrap justify-center gap-2">
              <Button look="primary" onClick={() => location.assign("/")}>
                Continue in {now.org.name}
              </Button>
              {mayGoBack && (
                <Button onClick={() => change(began.org.id, "here")}>
                  Back to {began.org.name}
                </Button>
              )}
            </div>
          }
        >
          {samePerson
            ? `You switched organizations in another tab. This tab showed ${began.org.name}.`
            : "Someone signed in from another tab."}{" "}
          All tabs of a browser share one sign-in.
        </EmptyState>
        {problem && (
          <div className="mx-auto max-w-xl px-4">
            <ErrorNote>{problem}</ErrorNote>
          </div>
        )}
      </div>
    </main>
  );
}
