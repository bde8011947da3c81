import { useParams } from "@tanstack/react-router";
import { useFresh } from "@/api/useFresh";
import { HarnessDocument } from "@/gql/graphql";
import { Missing } from "@/shell/Fallbacks";
import { ExistingHarness } from "./ExistingHarness";

export function HarnessPage() {
  const { harnessId } = useParams({ from: "/app/harnesses/$harnessId" });
  const { data, error, fetching, reload } = useFresh(HarnessDocument, { id: harnessId });
  const harness = data?.harness;
  if (harness) return <ExistingHarness key={harness.id} harness={harness} />;
  return <Missing fetching={fetching} error={error} reload={reload} />;
}
