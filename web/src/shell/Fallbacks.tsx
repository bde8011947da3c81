import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Compass, TriangleAlert } from "lucide-react";
import { Button, buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";

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
      It may have been deleted, or it belongs to another organization.
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
