import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Compass, TriangleAlert } from "lucide-react";
import type { CombinedError } from "urql";
import { Button, buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";

interface MissingProps {
  fetching: boolean;
  error: CombinedError | undefined;
  reload: () => void;
}

/** What a page shows while what it is about is being read, and when it can't be. */
export function Missing({ fetching, error, reload }: MissingProps) {
  if (!fetching && !error) return <NotFound />;
  return (
    <div className="p-6">
      {fetching ? <Spinner /> : <RequestError error={error} onRetry={reload} />}
    </div>
  );
}

export function NotFound() {
  return (
    <EmptyState
      icon={<Compass size={20} />}
      title="Page not found"
      action={
        <Link to="/sessions" className={buttonClasses("primary")}>
          Go to sessions
        </Link>
      }
    >
      There is no such page here, or it belongs to another organization.
    </EmptyState>
  );
}

/** Shown when the code of a page could not be loaded or has failed. */
export function PageCrash({ error }: ErrorComponentProps) {
  return (
    <EmptyState
      icon={<TriangleAlert size={20} />}
      title="Something went wrong"
      action={<Button onClick={() => location.reload()}>Reload</Button>}
    >
      {error instanceof Error ? error.message : "This page could not be displayed."}
    </EmptyState>
  );
}
