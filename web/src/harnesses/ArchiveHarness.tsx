import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { ArchiveButton } from "@/catalog/ArchiveButton";
import {
  ArchiveHarnessDocument,
  type HarnessDetailFragment,
  UnarchiveHarnessDocument,
} from "@/gql/graphql";

export function ArchiveHarness({ harness }: { harness: HarnessDetailFragment }) {
  const [, archive] = useMutation(ArchiveHarnessDocument);
  const [, unarchive] = useMutation(UnarchiveHarnessDocument);
  const { id } = harness;
  return (
    <ArchiveButton
      thing={harness}
      consequences="It becomes read-only and is hidden from lists. Agents and sessions that run on it, or on a harness below it, stop at their next step."
      archive={async () => {
        const { data, error } = await archive({ id });
        return error ? describeError(error) : data?.archiveHarness.userErrors[0]?.message;
      }}
      unarchive={async () => {
        const { data, error } = await unarchive({ id });
        return error ? describeError(error) : data?.unarchiveHarness.userErrors[0]?.message;
      }}
    />
  );
}
