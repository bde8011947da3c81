import { Library, Plus, Radar } from "lucide-react";
import { useState } from "react";
import { useClient, useMutation } from "urql";
import { describeError } from "@/api/errors";
import {
  DiscoverModelsDocument,
  KnownModelsDocument,
  type ModelRowFragment,
  type OfferedModelFragment,
  type ProviderRowFragment,
} from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { PROVIDER_KINDS } from "./kinds";
import { ModelByName } from "./ModelByName";
import { OfferedModels } from "./OfferedModels";

interface AddModelsProps {
  provider: ProviderRowFragment;
  added: readonly ModelRowFragment[];
}

type Offer = { from: "provider" | "table"; models: readonly OfferedModelFragment[] };

/** Three ways to more models: ask the provider, take from the table that ships with the server, or name one. */
export function AddModels({ provider, added }: AddModelsProps) {
  const client = useClient();
  const [{ fetching }, discover] = useMutation(DiscoverModelsDocument);
  const [offer, setOffer] = useState<Offer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [naming, setNaming] = useState(false);
  const { listsModels } = PROVIDER_KINDS[provider.kind];

  const showKnown = async () => {
    const { data, error } = await client
      .query(KnownModelsDocument, { kind: provider.kind })
      .toPromise();
    if (data) setOffer({ from: "table", models: data.knownModels });
    else if (error) setProblem(describeError(error));
  };
  const ask = async () => {
    setProblem(null);
    const { data, error } = await discover({ providerId: provider.id });
    const refused = data?.discoverModels.userErrors[0]?.message;
    if (error) setProblem(describeError(error));
    else if (refused) setProblem(refused);
    if (data && !refused) setOffer({ from: "provider", models: data.discoverModels.models });
    // What the server knows by itself is better than nothing.
    else await showKnown();
  };

  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        {listsModels && (
          <Button onClick={() => void ask()} disabled={fetching}>
            <Radar size={15} aria-hidden />
            {fetching ? "Asking the provider…" : "Discover models"}
          </Button>
        )}
        <Button
          look={listsModels ? "ghost" : "secondary"}
          onClick={() => {
            setProblem(null);
            void showKnown();
          }}
        >
          <Library size={15} aria-hidden />
          Well-known models
        </Button>
        <Button look="ghost" onClick={() => setNaming(true)}>
          <Plus size={15} aria-hidden />
          Add by name
        </Button>
      </div>
      {problem && <ErrorNote>{problem}</ErrorNote>}
      {offer && (
        <OfferedModels
          key={offer.from}
          providerId={provider.id}
          title={
            offer.from === "provider"
              ? "Models listed by the provider"
              : "Well-known models of this kind"
          }
          offered={offer.models}
          added={added}
          onClose={() => setOffer(null)}
        />
      )}
      {naming && <ModelByName providerId={provider.id} onClose={() => setNaming(false)} />}
    </div>
  );
}
