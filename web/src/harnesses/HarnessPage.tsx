import { useParams } from "@tanstack/react-router";
import { useQuery } from "urql";
import { describeError } from "@/api/errors";
import { HarnessDocument } from "@/gql/graphql";
import { NotFound } from "@/shell/Fallbacks";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { ExistingHarness } from "./ExistingHarness";

export function HarnessPage() {
  const { harnessId } = useParams({ from: "/app/harnesses/$harnessId" });
  const [{ data, error, fetching }, reload] = useQuery({
    query: HarnessDocument,
    variables: { id: harnessId },
    requestPolicy: "cache-and-network",
  });
  const harness = data?.harness;
  if (harness) return <ExistingHarness key={harness.id} harness={harness} />;
  return (
    <div className="p-6">
      {fetching && <Spinner />}
      {error && (
        <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
          {describeError(error)}
        </ErrorNote>
      )}
      {!fetching && !error && <NotFound />}
    </div>
  );
}
