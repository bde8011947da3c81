import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Compass, TriangleAlert } from "lucide-react";
import { Button, buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";

export function NotFound() {
  return (
    <EmptyState
      icon={<Compass size={20} />}
      title="There is nothing at this address"
      action={
        <Link to="/sessions" className={buttonClasses("primary")}>
          Go to sessions
        </Link>
      }
    >
      It may have been removed, or it belongs to another organization than the one you are in.
    </EmptyState>
  );
}

/** Shown when the code of a page could not be loaded or has failed. */
export function PageCrash({ error }: ErrorComponentProps) {
  return (
    <EmptyState
      icon={<TriangleAlert size={20} />}
      title="This page could not be shown"
      action={<Button onClick={() => location.reload()}>Load it again</Button>}
    >
      {error instanceof Error ? error.message : "Something unexpected went wrong."}
    </EmptyState>
  );
}
