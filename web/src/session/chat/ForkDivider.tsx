import { Link } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import { useQuery } from "urql";
import { SessionNameDocument } from "@/gql/graphql";

/** The end of the history that a fork began with. */
export function ForkDivider({ fromSessionId }: { fromSessionId: string }) {
  const [{ data }] = useQuery({ query: SessionNameDocument, variables: { id: fromSessionId } });
  // A session that is gone, or another organization's, has no page to go to.
  const known = data?.session;
  return (
    <div data-role="fork" className="my-6 flex items-center gap-3 text-xs text-ink-3">
      <span className="h-px flex-1 bg-line-strong" />
      <span className="flex min-w-0 items-center gap-1.5">
        <GitFork size={13} aria-hidden />
        <span className="truncate">
          The history above is from{" "}
          {known ? (
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: fromSessionId }}
              className="rounded font-medium text-ink-2 underline underline-offset-2"
            >
              {known.title ?? "an untitled session"}
            </Link>
          ) : (
            "another session"
          )}
        </span>
      </span>
      <span className="h-px flex-1 bg-line-strong" />
    </div>
  );
}
