import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMutation, useQuery } from "urql";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { HarnessDocument, HarnessHistoryDocument, RestoreHarnessDocument } from "@/gql/graphql";
import { NotFound } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { HistoryView } from "./HistoryView";
import { NO_REVISIONS } from "./search";

export function HarnessHistoryPage() {
  const { harnessId } = useParams({ from: "/app/harnesses/$harnessId/history" });
  const search = useSearch({ from: "/app/harnesses/$harnessId/history" });
  const navigate = useNavigate({ from: "/harnesses/$harnessId/history" });
  const mayWrite = useMay("CATALOG_WRITE");
  const [, restore] = useMutation(RestoreHarnessDocument);
  const [{ data, error, fetching }, reload] = useQuery({
    query: HarnessDocument,
    variables: { id: harnessId },
    requestPolicy: "cache-and-network",
  });
  const revisions = usePages(
    HarnessHistoryDocument,
    { id: harnessId, first: 50 },
    ({ harness }) => harness?.history ?? NO_REVISIONS,
  );
  const harness = data?.harness;

  if (!harness) {
    return (
      <div className="p-6">
        {fetching && <Spinner />}
        {error && <ErrorNote onRetry={reload}>{describeError(error)}</ErrorNote>}
        {!fetching && !error && <NotFound />}
      </div>
    );
  }
  const restorable = mayWrite && harness.lifecycle === "ACTIVE" && !harness.builtIn;
  return (
    <HistoryView
      trail={
        <>
          <Link to="/harnesses" className="font-normal text-ink-3 hover:text-ink">
            Harnesses
          </Link>
          <span className="text-ink-3" aria-hidden>
            /
          </span>
          <Link
            to="/harnesses/$harnessId"
            params={{ harnessId }}
            className="truncate font-normal text-ink-3 hover:text-ink"
          >
            {harness.displayName}
          </Link>
        </>
      }
      current={harness.revision}
      revisions={revisions}
      search={search}
      onCompare={(next) => void navigate({ search: next, replace: true })}
      restore={
        restorable
          ? async (revision, reason) => {
              const answer = await restore({ id: harnessId, revision, reason });
              const payload = answer.data?.restoreHarness;
              return {
                revision: payload?.harness?.revision ?? null,
                refusals: payload?.userErrors ?? [],
                error: answer.error,
              };
            }
          : null
      }
    />
  );
}
