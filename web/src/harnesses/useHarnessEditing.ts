import { useClient, useMutation } from "urql";
import { useDraftEditing } from "@/catalog/useDraftEditing";
import { type HarnessDetailFragment, HarnessDocument, UpdateHarnessDocument } from "@/gql/graphql";
import { draftOf, updateInput } from "./draft";

export function useHarnessEditing(harness: HarnessDetailFragment) {
  const client = useClient();
  const [, update] = useMutation(UpdateHarnessDocument);
  const versionOf = (each: HarnessDetailFragment) => ({
    revision: each.revision,
    draft: draftOf(each),
  });
  return useDraftEditing({
    storageKey: `ostler.harness.${harness.id}`,
    saved: versionOf(harness),
    save: async (draft, revision, reason) => {
      const { data, error } = await update({
        id: harness.id,
        input: updateInput(draft, revision, reason),
      });
      const payload = data?.updateHarness;
      return { saved: payload !== undefined, refusals: payload?.userErrors ?? [], error };
    },
    readLatest: async () => {
      const { data } = await client
        .query(HarnessDocument, { id: harness.id }, { requestPolicy: "network-only" })
        .toPromise();
      return data?.harness ? versionOf(data.harness) : null;
    },
  });
}
