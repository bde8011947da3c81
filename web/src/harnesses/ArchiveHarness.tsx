import { useAction } from "@/api/useAction";
import { ArchiveButton } from "@/catalog/ArchiveButton";
import {
  ArchiveHarnessDocument,
  type HarnessDetailFragment,
  UnarchiveHarnessDocument,
} from "@/gql/graphql";

export function ArchiveHarness({ harness }: { harness: HarnessDetailFragment }) {
  return (
    <ArchiveButton
      thing={harness}
      consequences="It becomes read-only and is hidden from lists. Agents and sessions that run on it, or on a harness below it, stop at their next step."
      archive={useAction(ArchiveHarnessDocument)}
      unarchive={useAction(UnarchiveHarnessDocument)}
    />
  );
}
